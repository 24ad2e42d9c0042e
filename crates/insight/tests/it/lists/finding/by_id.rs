//! Searches by any of a job's ids.

use super::{all_pages, dry_run, text};
use crate::support::{World, end, given_up, sent};
use insight::store::job_lists;
use model::actor::Scope;
use model::filter::JobFilter;
use model::id::{AppId, JobId};
use model::matched::AtLeast;
use model::operation::BulkAction;
use model::page::{Order, PageRequest};
use queue::store::jobs::{self, JobSpec};
use sqlx::PgPool;
use std::collections::BTreeSet;

/// Jobs in every table, which `q` finds by one of their ids, by several, or not at all.
async fn jobs_with_similar_ids(world: &World) -> BTreeSet<JobId> {
    let (lane, worker) = (world.lane().await, world.worker().await);
    let of = |record: Option<&str>, deduplication: &str, correlation: &str| JobSpec {
        record: record.map(|id| ("product".to_owned(), id.to_owned())),
        deduplication_id: Some(
            record.map_or(deduplication.to_owned(), |id| jobs::deduplication_id("product", id)),
        ),
        correlation_id: correlation.to_owned(),
        ..world.spec(lane)
    };
    let round = [
        of(Some("x"), "", "x"),
        of(Some("y"), "", "x"),
        of(None, "x", "other"),
        of(None, "other", "x"),
        of(Some("z"), "", "z"),
    ];
    let mut ids = BTreeSet::new();
    for ending in [sent(), given_up()] {
        let made = world.accept(&round).await;
        let leased = world.claim(worker, 10).await;
        world.finish(&leased.iter().map(|job| end(job, ending.clone())).collect::<Vec<_>>()).await;
        ids.extend(made[..4].iter().map(|job| job.id));
    }
    let made = world.accept(&round).await;
    ids.extend(made[..4].iter().map(|job| job.id));
    // Successors of the running ones.
    world.claim(worker, 10).await;
    let successors = world.accept(&round[..3]).await;
    ids.extend(successors.iter().map(|job| job.id));
    sqlx::query("insert into headgate.record_counts (app_id, record_type, n) values ($1, 'product', 3)")
        .bind(world.app_id)
        .execute(&world.pool)
        .await
        .unwrap();
    ids
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_search_finds_each_job_once_by_whichever_of_its_ids(pool: PgPool) {
    let world = World::new(&pool).await;
    let expected = jobs_with_similar_ids(&world).await;
    let filter = JobFilter { q: text("x"), ..Default::default() };
    let (found, pages) = all_pages(&pool, &filter, 2, Order::Newest).await;
    assert!(pages > 5 && found.windows(2).all(|pair| pair[0].id > pair[1].id), "{pages} pages");
    assert_eq!(found.iter().map(|job| job.id).collect::<BTreeSet<_>>(), expected);
    let matched = job_lists::count(&pool, Scope::AllApps, &filter).await.unwrap().unwrap();
    assert_eq!(matched.all, AtLeast { n: expected.len() as i64, is_more: false });

    // By the job's id, and a dead letter by its own id too.
    let dead = insight::store::dead_letters::list(&pool, Scope::AllApps, &filter, PageRequest::default())
        .await
        .unwrap();
    assert_eq!(dead.items.len(), 4);
    for id in [dead.items[0].id.0, dead.items[0].job_id.0] {
        let (found, _) =
            all_pages(&pool, &JobFilter { q: Some(id.to_string()), ..Default::default() }, 2, Order::Newest)
                .await;
        assert_eq!(found.iter().map(|job| job.id).collect::<Vec<_>>(), [dead.items[0].job_id]);
    }
    let elsewhere = JobFilter { app_id: Some(AppId::generate()), ..filter.clone() };
    assert!(all_pages(&pool, &elsewhere, 2, Order::Newest).await.0.is_empty());

    // A bulk action selects what the list shows.
    let dry = dry_run(&pool, BulkAction::Cancel, filter).await;
    let live = found.iter().filter(|job| job.status.is_live()).count();
    assert_eq!((dry.matched, live), (7, 7));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_database_makes_the_same_deduplication_ids_as_rust(pool: PgPool) {
    let longest = "ä".repeat(255);
    for (record_type, record_id) in
        [("product", "1"), ("a:b%", "c:d"), ("product", &longest), (&longest, &longest)]
    {
        let expected: String = sqlx::query_scalar("select headgate.record_deduplication_id($1, $2)")
            .bind(record_type)
            .bind(record_id)
            .fetch_one(&pool)
            .await
            .unwrap();
        assert_eq!(expected, jobs::deduplication_id(record_type, record_id));
    }
}
