//! Lists show every job, wherever its row lies, newest first.

use crate::support::{World, end, given_up, retried, sent};
use model::{
    actor::Scope,
    filter::JobFilter,
    id::{AppId, JobId},
    job::JobStatus,
    page::PageRequest,
};
use queue::store::jobs::{self, JobSpec};
use sqlx::PgPool;
use std::time::Duration;

async fn ids(pool: &PgPool, filter: JobFilter) -> Vec<JobId> {
    let page = jobs::list(pool, Scope::AllApps, &filter, PageRequest::default()).await.unwrap();
    page.items.into_iter().map(|job| job.id).collect()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn every_state_and_every_filter_finds_its_jobs(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let spec = |id: &str| JobSpec {
        deduplication_id: Some(id.into()),
        correlation_id: format!("corr-{id}"),
        record: Some(("product".into(), id.into())),
        ..world.spec(lane)
    };
    let made: Vec<JobId> = world
        .accept(&["done", "dead", "later", "due", "runs"].map(spec))
        .await
        .into_iter()
        .map(|job| job.id)
        .collect();
    let held = world.claim(worker, 10).await;
    let endings = [sent(), given_up(), retried(Duration::from_secs(60)), retried(Duration::ZERO)];
    world
        .finish(
            &made
                .iter()
                .zip(endings)
                .map(|(id, ending)| end(crate::support::by_id(&held, *id), ending))
                .collect::<Vec<_>>(),
        )
        .await;
    let successor = world.accept(&[spec("runs")]).await[0].id;
    let fresh = world.accept(&[JobSpec { job_type: "index".into(), ..spec("fresh") }]).await[0].id;
    let off = world.accept(&[spec("off")]).await[0].id;
    world.cancel(off).await.unwrap();

    let mut all = made.clone();
    all.extend([successor, fresh, off]);
    all.sort();
    all.reverse();
    assert_eq!(ids(&pool, JobFilter::default()).await, all);
    for (status, expected) in [
        (JobStatus::Pending, vec![fresh, successor]),
        (JobStatus::Processing, vec![made[4]]),
        (JobStatus::ToBeRetried, vec![made[2]]),
        (JobStatus::Retrying, vec![made[3]]),
        (JobStatus::Completed, vec![made[0]]),
        (JobStatus::Failed, vec![made[1]]),
        (JobStatus::Cancelled, vec![off]),
    ] {
        assert_eq!(
            ids(&pool, JobFilter { status: Some(status), ..Default::default() }).await,
            expected,
            "{status:?}"
        );
    }
    let text = |text: &str| Some(text.to_owned());
    for (filter, expected) in [
        (JobFilter { job_type: text("index"), ..Default::default() }, vec![fresh]),
        (JobFilter { correlation_id: text("corr-dead"), ..Default::default() }, vec![made[1]]),
        (
            JobFilter { record_id: text("due"), record_type: text("product"), ..Default::default() },
            vec![made[3]],
        ),
        (JobFilter { attempt: Some(0), ..Default::default() }, vec![off, fresh, successor]),
        (
            JobFilter { attempt: Some(1), status: Some(JobStatus::ToBeRetried), ..Default::default() },
            vec![made[2]],
        ),
        (JobFilter { attempt: Some(2), ..Default::default() }, vec![]),
        (JobFilter { error: text("SHELF 13"), ..Default::default() }, vec![made[1]]),
        (JobFilter { error: text("%"), ..Default::default() }, vec![]),
        (JobFilter { q: text(&successor.to_string()), ..Default::default() }, vec![successor]),
        (JobFilter { q: text("runs"), ..Default::default() }, vec![successor, made[4]]),
        (
            JobFilter {
                created_after: Some(chrono::Utc::now() + chrono::Duration::hours(1)),
                ..Default::default()
            },
            vec![],
        ),
        (
            JobFilter { integration_id: Some(model::id::IntegrationId::generate()), ..Default::default() },
            vec![],
        ),
    ] {
        assert_eq!(ids(&pool, filter.clone()).await, expected, "{filter:?}");
    }
    let foreign = Scope::App(AppId::generate());
    assert_eq!(
        jobs::list(&pool, foreign, &JobFilter::default(), PageRequest::default()).await.unwrap().items,
        []
    );
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn names_are_read_at_the_call_and_in_scope_only(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let gone = model::id::IntegrationId::generate();
    let names = queue::store::stats::names(&pool, Scope::AllApps, &[lane, gone], None).await.unwrap();
    assert_eq!(names.len(), 1, "what is gone has no name");
    assert_eq!((names[&lane].name.as_str(), names[&lane].app_name.as_str()), ("Search", "Shop"));
    let foreign = Scope::App(AppId::generate());
    assert!(queue::store::stats::names(&pool, foreign, &[lane], None).await.unwrap().is_empty());
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn pages_meet_without_gap_or_overlap(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    world.accept_plain(lane, 25).await;
    let held = world.claim(worker, 12).await;
    world.finish(&held.iter().map(|job| end(job, sent())).collect::<Vec<_>>()).await;
    let mut seen = Vec::new();
    let mut page = PageRequest { limit: 4, after: None };
    loop {
        let answer = jobs::list(&pool, Scope::AllApps, &JobFilter::default(), page).await.unwrap();
        seen.extend(answer.items.iter().map(|job| job.id));
        let Some(cursor) = answer.next_cursor else { break };
        page = PageRequest::parse(Some(4), Some(&cursor)).unwrap();
    }
    assert_eq!(seen.len(), 25);
    assert!(seen.windows(2).all(|pair| pair[0] > pair[1]));
}
