//! Lists show every job, whichever table it is in, newest first.

use crate::support::{World, end, given_up, retried, sent};
use insight::store::job_lists;
use model::actor::Scope;
use model::filter::JobFilter;
use model::id::{AppId, JobId};
use model::job::JobStatus;
use model::page::{Order, PageRequest};
use queue::QueueError;
use queue::store::jobs::{self, JobSpec};
use sqlx::PgPool;
use std::time::Duration;

async fn ids(pool: &PgPool, filter: JobFilter) -> Vec<JobId> {
    let page = job_lists::list(pool, Scope::AllApps, &filter, PageRequest::default()).await.unwrap();
    page.items.into_iter().map(|job| job.id).collect()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn every_state_and_every_filter_finds_its_jobs(pool: PgPool) {
    let begin = chrono::Utc::now();
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    sqlx::query("insert into headgate.record_counts (app_id, record_type, n) values ($1, 'product', 6)")
        .bind(world.app_id)
        .execute(&pool)
        .await
        .unwrap();
    let spec = |id: &str| JobSpec {
        deduplication_id: Some(jobs::deduplication_id("product", id)),
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
    let leased = world.claim(worker, 10).await;
    let endings = [sent(), given_up(), retried(Duration::from_secs(60)), retried(Duration::ZERO)];
    world
        .finish(
            &made
                .iter()
                .zip(endings)
                .map(|(id, ending)| end(crate::support::by_id(&leased, *id), ending))
                .collect::<Vec<_>>(),
        )
        .await;
    let successor = world.accept(&[spec("runs")]).await[0].id;
    let fresh = world.accept(&[JobSpec { job_type: "index".into(), ..spec("fresh") }]).await[0].id;
    let cancelled = world.accept(&[spec("off")]).await[0].id;
    world.cancel(cancelled).await.unwrap();

    let mut all = made.clone();
    all.extend([successor, fresh, cancelled]);
    all.sort();
    all.reverse();
    assert_eq!(ids(&pool, JobFilter::default()).await, all);
    for (status, expected) in [
        (JobStatus::Pending, vec![fresh, successor]),
        (JobStatus::Processing, vec![made[4]]),
        (JobStatus::ToBeRetried, vec![made[3], made[2]]),
        (JobStatus::Retrying, vec![made[3]]),
        (JobStatus::Completed, vec![made[0]]),
        (JobStatus::Failed, vec![made[1]]),
        (JobStatus::Cancelled, vec![cancelled]),
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
        (JobFilter { attempt: Some(0), ..Default::default() }, vec![cancelled, fresh, successor]),
        (
            JobFilter { attempt: Some(1), status: Some(JobStatus::ToBeRetried), ..Default::default() },
            vec![made[3], made[2]],
        ),
        (JobFilter { attempt: Some(2), ..Default::default() }, vec![]),
        (
            JobFilter { attempt_min: Some(1), integration_id: Some(lane), ..Default::default() },
            vec![made[4], made[3], made[2], made[1], made[0]],
        ),
        (
            JobFilter { attempt_max: Some(0), integration_id: Some(lane), ..Default::default() },
            vec![cancelled, fresh, successor],
        ),
        (
            JobFilter {
                response_status: "5xx".parse().ok(),
                integration_id: Some(lane),
                ..Default::default()
            },
            vec![made[3], made[2], made[1]],
        ),
        (
            JobFilter {
                response_status: "200".parse().ok(),
                integration_id: Some(lane),
                ..Default::default()
            },
            vec![made[0]],
        ),
        (
            JobFilter { worker_id: Some(worker), integration_id: Some(lane), ..Default::default() },
            vec![made[4], made[1], made[0]],
        ),
        (
            JobFilter { worker_id: Some(worker), status: Some(JobStatus::Processing), ..Default::default() },
            vec![made[4]],
        ),
        (JobFilter { min_age: "1h".parse().ok(), ..Default::default() }, vec![]),
        (
            JobFilter { max_age: "1h".parse().ok(), job_type: text("index"), ..Default::default() },
            vec![fresh],
        ),
        (JobFilter { finished_after: Some(begin), ..Default::default() }, vec![cancelled, made[1], made[0]]),
        (JobFilter { finished_before: Some(begin), ..Default::default() }, vec![]),
        (
            JobFilter {
                finished_before: Some(begin + chrono::Duration::hours(1)),
                status: Some(JobStatus::Completed),
                ..Default::default()
            },
            vec![made[0]],
        ),
        (
            JobFilter { record_id: text("done"), record_type: text("product"), ..Default::default() },
            vec![made[0]],
        ),
        (
            JobFilter { record_id: text("runs"), record_type: text("product"), ..Default::default() },
            vec![successor, made[4]],
        ),
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
        job_lists::list(&pool, foreign, &JobFilter::default(), PageRequest::default()).await.unwrap().items,
        []
    );
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_payload_is_searched_by_path_in_every_table(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let spec = |id: &str, payload| JobSpec {
        payload: Some(payload),
        deduplication_id: Some(id.into()),
        ..world.spec(lane)
    };
    let made = world
        .accept(&[
            spec("a", serde_json::json!({"order": {"id": 17}, "rush": true})),
            spec("b", serde_json::json!({"order": {"id": "17"}})),
            spec("c", serde_json::json!({"order": {"id": 18}})),
        ])
        .await;
    let leased = world.claim(worker, 2).await;
    world.finish(&[end(crate::support::by_id(&leased, made[0].id), sent())]).await;
    let successor = world.accept(&[spec("b", serde_json::json!({"order": {"id": 17.0}}))]).await[0].id;
    let of = |paths: &[(&str, &str)]| JobFilter {
        integration_id: Some(lane),
        payload: serde_json::from_value(paths.iter().copied().collect()).ok(),
        ..Default::default()
    };
    assert_eq!(ids(&pool, of(&[("order.id", "17")])).await, [successor, made[1].id, made[0].id]);
    assert_eq!(ids(&pool, of(&[("order.id", "17"), ("rush", "true")])).await, [made[0].id]);
    assert_eq!(ids(&pool, of(&[("order", "17")])).await, []);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_filter_without_an_index_is_refused_and_the_error_names_one_that_helps(pool: PgPool) {
    let list = async |filter: JobFilter| {
        job_lists::list(&pool, Scope::AllApps, &filter, PageRequest::default())
            .await
            .map(|page| page.items.len())
    };
    let by_answer = JobFilter { response_status: "503".parse().ok(), ..Default::default() };
    let Err(QueueError::Invalid(faults)) = list(by_answer.clone()).await else { panic!("it was accepted") };
    assert_eq!(faults.0[0].pointer, "response_status");
    assert!(faults.0[0].detail.contains("integration_id"), "{faults}");
    let with_status = JobFilter { status: Some(JobStatus::Failed), ..by_answer };
    assert_eq!(list(with_status).await.unwrap(), 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn matches_are_counted_as_list_and_actions_select_them(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    world.accept_plain(lane, 9).await;
    let leased = world.claim(worker, 4).await;
    let endings = [sent(), given_up(), retried(Duration::from_secs(60))];
    world.finish(&leased.iter().zip(endings).map(|(job, ending)| end(job, ending)).collect::<Vec<_>>()).await;
    let filter = JobFilter { integration_id: Some(lane), ..Default::default() };
    let matched = job_lists::count(&pool, Scope::AllApps, &filter).await.unwrap().unwrap();
    assert_eq!(matched.all.n, i64::try_from(ids(&pool, filter.clone()).await.len()).unwrap());
    assert_eq!((matched.all.n, matched.requeue.n, matched.cancel.n), (9, 2, 7));
    assert!(!matched.all.is_more);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn names_are_read_at_the_call_and_within_the_scope(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let gone = model::id::IntegrationId::generate();
    let names = insight::store::stats::names(&pool, Scope::AllApps, &[lane, gone], None).await.unwrap();
    assert_eq!(names.len(), 1, "a deleted integration has no name");
    assert_eq!((names[&lane].name.as_str(), names[&lane].app_name.as_str()), ("Search", "Shop"));
    let foreign = Scope::App(AppId::generate());
    assert!(insight::store::stats::names(&pool, foreign, &[lane], None).await.unwrap().is_empty());
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn pages_have_no_gap_and_no_overlap(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    world.accept_plain(lane, 25).await;
    let leased = world.claim(worker, 12).await;
    world.finish(&leased.iter().map(|job| end(job, sent())).collect::<Vec<_>>()).await;
    let mut seen = Vec::new();
    let mut page = PageRequest { limit: 4, after: None };
    loop {
        let answer = job_lists::list(&pool, Scope::AllApps, &JobFilter::default(), page).await.unwrap();
        seen.extend(answer.items.iter().map(|job| job.id));
        let Some(cursor) = answer.next_cursor else { break };
        page = PageRequest::parse(Some(4), Some(&cursor)).unwrap();
    }
    assert_eq!(seen.len(), 25);
    assert!(seen.windows(2).all(|pair| pair[0] > pair[1]));

    let recent = JobFilter { max_age: "1h".parse().ok(), ..Default::default() };
    let mut forwards = Vec::new();
    let mut page = PageRequest { limit: 4, after: None };
    loop {
        let answer = job_lists::list_from(&pool, Scope::AllApps, &recent, page, Order::Oldest).await.unwrap();
        forwards.extend(answer.items.iter().map(|job| job.id));
        let Some(cursor) = answer.next_cursor else { break };
        page = PageRequest::parse(Some(4), Some(&cursor)).unwrap();
    }
    forwards.reverse();
    assert_eq!(forwards, seen);
    let all = JobFilter::default();
    let refused = job_lists::list_from(&pool, Scope::AllApps, &all, page, Order::Oldest).await;
    assert!(matches!(refused, Err(QueueError::Invalid(_))));
}
