//! The rows of a deleted app or integration are deleted in portions, by the process that deleted it or by the leader, and are not shown any
//! more.

use super::service;
use super::world::{World, lead};
use crate::touched::session;
use delivery::deletions::{self, NewDeletion};
use insight::store::{job_lists, operations};
use model::actor::Scope;
use model::dead_letter::GroupPageRequest;
use model::filter::JobFilter;
use model::id::{IntegrationId, OperationId};
use model::operation::{BulkAction, BulkSubject, OperationState};
use model::page::PageRequest;
use queue::{QueueError, store::jobs};
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

/// More rows than a portion.
const MANY: i32 = 2_500;

/// Records of the world's app, with sent state and uncertain records of the integration.
async fn catalog(world: &World, lane: IntegrationId, count: i32) {
    sqlx::query(
        "with records as (
            insert into headgate.records (app_id, record_type, record_id, attributes, attribute_bytes)
            select $1, 'product', n::text, '{}', 2 from generate_series(1, $3) n
            on conflict do nothing
        ), counted as (
            insert into headgate.record_counts values ($1, 'product', $3) on conflict do nothing
        ), unsure as (
            insert into headgate.uncertain_records select $2, 'product', n::text from generate_series(1, $3) n
        )
        insert into headgate.sent_records (integration_id, record_type, record_id, version, attributes)
        select $2, 'product', n::text, 1, '{}' from generate_series(1, $3) n",
    )
    .bind(world.app)
    .bind(lane)
    .bind(count)
    .execute(&world.pool)
    .await
    .unwrap();
}

/// Deletes the integration, or without one the app, as `delivery` does.
async fn delete(world: &World, integration_id: Option<IntegrationId>) -> OperationId {
    let mut transaction = world.pool.begin().await.unwrap();
    let ids: Vec<uuid::Uuid> = sqlx::query_scalar(
        "select id from headgate.integrations where app_id = $1 and ($2::uuid is null or id = $2) order by id",
    )
    .bind(world.app)
    .bind(integration_id)
    .fetch_all(&mut *transaction)
    .await
    .unwrap();
    let new = NewDeletion {
        app_id: world.app,
        integration_id,
        integration_ids: &ids,
        name: "Nordwind",
        requested_by: "Mia",
    };
    let id = deletions::begin(&mut transaction, &new).await.unwrap();
    sqlx::query("delete from headgate.integrations where id = any ($1)")
        .bind(&ids)
        .execute(&mut *transaction)
        .await
        .unwrap();
    if integration_id.is_none() {
        sqlx::query("delete from headgate.apps where id = $1")
            .bind(world.app)
            .execute(&mut *transaction)
            .await
            .unwrap();
    }
    transaction.commit().await.unwrap();
    id
}

const TABLES: [&str; 8] =
    ["jobs", "ready", "waiting", "dead_letter_jobs", "bin", "records", "sent_records", "uncertain_records"];

async fn left(pool: &PgPool) -> Vec<i64> {
    let mut left = Vec::new();
    for table in TABLES {
        let sql = sqlx::AssertSqlSafe(format!("select count(*) from headgate.{table}"));
        left.push(sqlx::query_scalar(sql).fetch_one(pool).await.unwrap());
    }
    left
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_app_is_deleted_in_portions_and_shown_as_an_operation(pool: PgPool) {
    let (world, other) = (World::new(&pool).await, World::new(&pool).await);
    for world in [&world, &other] {
        let second = world.another_lane().await;
        world.pending(world.lane, 3, 10).await;
        world.processing(second, 2).await;
        world.to_be_retried(second, 2, 1).await;
        world.dead_letters(world.lane, 3).await;
        catalog(world, world.lane, MANY).await;
    }
    let whole = left(&pool).await;
    let id = delete(&world, None).await;
    let deletion = operations::get(&pool, Scope::AllApps, id).await.unwrap();
    assert_eq!(
        (deletion.subject, deletion.action, deletion.state),
        (BulkSubject::App, BulkAction::Delete, OperationState::Running)
    );
    assert_eq!((deletion.deleted_name.as_deref(), deletion.requested_by.as_str()), (Some("Nordwind"), "Mia"));
    assert_eq!(deletion.filter.app_id, Some(world.app));
    assert_eq!((deletion.matched, deletion.changed), (10 + i64::from(MANY), 0));

    // First the jobs of one integration, then those of the other, then a portion of each table.
    for _ in 0..3 {
        assert!(deletions::delete_portion(&pool, None, id).await.unwrap());
    }
    assert_eq!(world.number("select count(*) from headgate.jobs").await, 7);
    assert_eq!(world.number("select count(*) from headgate.records").await, 2 * i64::from(MANY) - 2_000);
    // The process that began it is gone: the leader continues.
    let term = lead(&pool).await;
    let deleting = service(&pool, "deletions");
    while deleting.run_once(&pool, term).await.unwrap() {}
    let half: Vec<i64> = whole.iter().map(|n| n / 2).collect();
    assert_eq!(left(&pool).await, half, "{TABLES:?}: only the other app's rows are left");
    let deletion =
        operations::list(&pool, Scope::AllApps, PageRequest::default()).await.unwrap().items.remove(0);
    assert_eq!((deletion.id, deletion.state), (id, OperationState::Done));
    assert_eq!((deletion.changed, deletion.matched), (10 + 3 * i64::from(MANY), 10 + 3 * i64::from(MANY)));
    assert_eq!(
        world.number("select count(distinct integration_id) from (select integration_id from headgate.job_counts where n <> 0
            union all select integration_id from headgate.job_count_deltas) counted").await,
        2,
        "only the other app's"
    );
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn what_is_being_deleted_is_not_shown(pool: PgPool) {
    let world = World::new(&pool).await;
    let kept = world.another_lane().await;
    let pending = world.pending(world.lane, 1, 10).await[0];
    world.dead_letters(world.lane, 1).await;
    world.dead_letters(kept, 1).await;
    let letters = async || {
        let page = PageRequest::default();
        insight::store::dead_letters::list(&pool, Scope::AllApps, &JobFilter::default(), page)
            .await
            .unwrap()
            .items
    };
    let gone = letters().await.into_iter().find(|letter| letter.integration_id == world.lane).unwrap();
    delete(&world, Some(world.lane)).await;

    let shown = letters().await;
    assert_eq!(shown.iter().map(|letter| letter.integration_id).collect::<Vec<_>>(), [kept]);
    assert!(matches!(
        insight::store::dead_letters::get(&pool, Scope::AllApps, gone.id).await,
        Err(QueueError::NotFound)
    ));
    let listed = async |filter: JobFilter| -> Vec<IntegrationId> {
        let page = job_lists::list(&pool, Scope::AllApps, &filter, PageRequest::default()).await.unwrap();
        page.items.iter().map(|job| job.integration_id).collect()
    };
    let of = |id| JobFilter { integration_id: Some(id), ..JobFilter::default() };
    assert_eq!(listed(of(kept)).await, [kept]);
    assert_eq!(listed(of(world.lane)).await, []);
    for id in [pending, gone.job_id] {
        assert!(matches!(jobs::get(&pool, Scope::AllApps, id).await, Err(QueueError::NotFound)));
    }
    let page = GroupPageRequest::default();
    let groups = insight::store::dead_letters::groups(&pool, Scope::AllApps, &JobFilter::default(), &page)
        .await
        .unwrap()
        .items;
    assert!(groups.iter().all(|group| group.integration_id == kept), "{groups:?}");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn nothing_stops_a_deletion(pool: PgPool) {
    let world = World::new(&pool).await;
    world.pending(world.lane, 1, 10).await;
    let id = delete(&world, Some(world.lane)).await;
    let mut connection = pool.acquire().await.unwrap();
    let paused = operations::pause(&mut connection, Scope::AllApps, id).await;
    assert!(matches!(paused, Err(QueueError::WrongOperationState { .. })), "{paused:?}");
    let aborted = operations::abort(&mut connection, Scope::AllApps, id).await;
    assert!(matches!(aborted, Err(QueueError::WrongOperationState { .. })), "{aborted:?}");
    assert!(operations::get(&pool, Scope::App(world.app), id).await.is_err(), "an app does not see it");
    assert!(deletions::finish_if_small(&pool, id).await);
    assert_eq!(left(&pool).await, [0; 8]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn only_a_small_deletion_is_finished_at_once(pool: PgPool) {
    let (small, large) = (World::new(&pool).await, World::new(&pool).await);
    catalog(&small, small.lane, 500).await;
    catalog(&large, large.lane, MANY).await;
    let id = delete(&large, None).await;
    assert!(!deletions::finish_if_small(&pool, id).await);
    assert_eq!(large.number("select count(*) from headgate.records").await, 500 + i64::from(MANY));
    let id = delete(&small, None).await;
    assert!(deletions::finish_if_small(&pool, id).await);
    assert_eq!(large.number("select count(*) from headgate.records").await, i64::from(MANY));
}

/// As when somebody deletes by hand.
#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn without_an_operation_everything_is_deleted_with_the_row(pool: PgPool) {
    let world = World::new(&pool).await;
    catalog(&world, world.lane, 10).await;
    world.run("delete from headgate.integrations").await;
    assert_eq!(left(&pool).await, [0, 0, 0, 0, 0, 10, 0, 0]);
    world.run("delete from headgate.apps").await;
    assert_eq!(left(&pool).await, [0; 8]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_portion_reads_no_more_than_it_deletes(_: PgPoolOptions, options: PgConnectOptions) {
    let (pool, plans) = session(options);
    let (world, other) = (World::new(&pool).await, World::new(&pool).await);
    for world in [&world, &other] {
        catalog(world, world.lane, 20_000).await;
        world.dead_letters(world.lane, 5_000).await;
    }
    let id = delete(&world, None).await;
    for statistics in ["select", "analyze"] {
        world.run(statistics).await;
        plans.touched();
        assert!(deletions::delete_portion(&pool, None, id).await.unwrap());
        let touched = plans.touched();
        // In four tables, each row is read once to find it and once to delete it.
        assert!(touched.rows < 4 * 2 * 2_000 + 500 && touched.in_sequence < 500, "{statistics}: {touched:?}");
    }
}
