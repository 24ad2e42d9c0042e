//! Which jobs and dead letters a bulk action changes: those that its list shows, within its actor's scope, and to which it applies.

use super::an_operator;
use super::operations::{cancel, counts, run, start};
use super::world::{World, lead};
use insight::store::{job_lists, operations};
use model::actor::{Actor, Role, Scope};
use model::filter::JobFilter;
use model::id::AppId;
use model::job::JobStatus;
use model::operation::{BulkAction, BulkOutcome, BulkStart, BulkStarted, BulkSubject, NewBulk};
use model::page::PageRequest;
use queue::QueueError;
use queue::store::counts;
use queue::store::jobs::{self, JobSpec};
use sqlx::PgPool;
use std::time::Duration;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn dead_letters_are_requeued_and_purged_by_filter(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    let other = world.another_lane().await;
    world.dead_letters(world.lane, 120).await;
    world.dead_letters(other, 20).await;
    let of = |lane| Some(JobFilter { integration_id: Some(lane), ..JobFilter::default() });
    let requeue = NewBulk { action: BulkAction::Requeue, ..cancel(&world) };
    let started = operations::start(&pool, &an_operator(), BulkSubject::DeadLetters, requeue).await.unwrap();
    assert!(matches!(started, BulkStart::Outcome(BulkOutcome::Started(BulkStarted { matched: 120, .. }))));
    while run(&pool, term).await {}
    let purge = NewBulk { action: BulkAction::Purge, filter: of(other), ..cancel(&world) };
    let done = operations::start(&pool, &an_operator(), BulkSubject::DeadLetters, purge).await.unwrap();
    assert_eq!(counts(&done), (20, 20, 0));
    assert_eq!(world.number("select count(*) from headgate.dead_letter_jobs").await, 0);
    assert_eq!(counts::counts(&pool, world.lane).await.unwrap().backlog, 120);
    assert_eq!(counts::counts(&pool, other).await.unwrap(), counts::LaneCounts::default());
    assert_eq!(counts::drift(&pool).await.unwrap(), []);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_apps_actor_touches_and_sees_its_own_only(pool: PgPool) {
    let (one, other) = (World::new(&pool).await, World::new(&pool).await);
    one.pending(one.lane, 101, 0).await;
    let foreign = other.pending(other.lane, 3, 0).await;
    let actor = Actor { role: Role::Portal, app_id: Some(one.app), ..an_operator() };
    let by_ids = NewBulk { ids: Some(foreign.iter().map(|id| id.0).collect()), filter: None, ..cancel(&one) };
    assert_eq!(counts(&start(&pool, &actor, by_ids).await), (0, 0, 0));
    assert_eq!(counts(&start(&pool, &actor, cancel(&other)).await), (0, 0, 0));
    start(&pool, &actor, cancel(&one)).await;
    let listed = |scope| operations::list(&pool, scope, PageRequest::default());
    assert_eq!(listed(Scope::App(one.app)).await.unwrap().items.len(), 1);
    assert_eq!(listed(Scope::App(AppId::generate())).await.unwrap().items.len(), 0);
    assert_eq!(listed(Scope::AllApps).await.unwrap().items.len(), 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_empty_filter_and_an_impossible_action_are_refused(pool: PgPool) {
    let world = World::new(&pool).await;
    let empty = NewBulk { filter: Some(JobFilter::default()), ..cancel(&world) };
    let purge = NewBulk { action: BulkAction::Purge, ..cancel(&world) };
    for new in [empty, purge] {
        let refused = operations::start(&pool, &an_operator(), BulkSubject::Jobs, new).await;
        assert!(matches!(refused, Err(QueueError::Invalid(_))));
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_bulk_action_changes_what_its_list_shows(pool: PgPool) {
    let world = World::new(&pool).await;
    world.pending(world.lane, 4, 0).await;
    world.to_be_retried(world.lane, 3, 1).await;
    world.dead_letters(world.lane, 2).await;
    let ids = world.pending(world.lane, 1, 0).await;
    world
        .run(
            "update headgate.jobs set error_message = '50% of _all_' where status = 2;
            update headgate.waiting set due_at = now() - interval '1 hour';
            update headgate.jobs set retry_at = now() - interval '1 hour'
            where id = (select id from headgate.jobs where status = 2 limit 1)",
        )
        .await;
    let correlation = ids[0].to_string();
    let text = |text: &str| Some(text.to_owned());
    for (filter, action, count) in [
        (JobFilter { app_id: Some(world.app), ..JobFilter::default() }, BulkAction::Cancel, 8),
        (JobFilter { app_id: Some(world.app), ..JobFilter::default() }, BulkAction::Requeue, 5),
        (JobFilter { status: Some(JobStatus::Retrying), ..JobFilter::default() }, BulkAction::Requeue, 1),
        (JobFilter { status: Some(JobStatus::ToBeRetried), ..JobFilter::default() }, BulkAction::Cancel, 3),
        (JobFilter { status: Some(JobStatus::Failed), ..JobFilter::default() }, BulkAction::Requeue, 2),
        (JobFilter { status: Some(JobStatus::Completed), ..JobFilter::default() }, BulkAction::Requeue, 0),
        (JobFilter { error: text("50% OF _A"), ..JobFilter::default() }, BulkAction::Cancel, 3),
        (JobFilter { error: text("5_%"), ..JobFilter::default() }, BulkAction::Cancel, 0),
        (JobFilter { q: Some(correlation.clone()), ..JobFilter::default() }, BulkAction::Cancel, 1),
        (JobFilter { correlation_id: Some(correlation), ..JobFilter::default() }, BulkAction::Cancel, 1),
        (JobFilter { fingerprint: text("f"), ..JobFilter::default() }, BulkAction::Requeue, 2),
        (
            JobFilter { integration_id: Some(world.lane), job_type: text("other"), ..JobFilter::default() },
            BulkAction::Cancel,
            0,
        ),
    ] {
        let new = NewBulk { action, filter: Some(filter.clone()), dry_run: true, ..cancel(&world) };
        let BulkStart::DryRun(dry) = start(&pool, &an_operator(), new).await else { panic!("not dry") };
        assert_eq!(dry.matched, count, "{filter:?}");
        // Without a status the list also shows jobs to which the action does not apply.
        if filter.status.is_some() || filter.error.is_some() || filter.q.is_some() {
            let listed =
                job_lists::list(&pool, Scope::AllApps, &filter, PageRequest::default()).await.unwrap();
            assert_eq!(listed.items.len(), usize::try_from(count).unwrap(), "{filter:?}");
        }
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn cancelled_jobs_are_requeued_only_when_the_filter_asks_for_them(pool: PgPool) {
    let world = World::new(&pool).await;
    world.pending(world.lane, 5, 0).await;
    start(&pool, &an_operator(), cancel(&world)).await;
    let requeue = |status| {
        let filter = Some(JobFilter { integration_id: Some(world.lane), status, ..JobFilter::default() });
        NewBulk { action: BulkAction::Requeue, filter, ..cancel(&world) }
    };
    assert_eq!(counts(&start(&pool, &an_operator(), requeue(None)).await), (0, 0, 0));
    let cancelled = requeue(Some(JobStatus::Cancelled));
    assert_eq!(counts(&start(&pool, &an_operator(), cancelled).await), (5, 5, 0));
    assert_eq!(counts::counts(&pool, world.lane).await.unwrap().backlog, 5);
    assert_eq!(counts::drift(&pool).await.unwrap(), []);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn successors_and_keyed_jobs_are_cancelled_with_the_rest(pool: PgPool) {
    let world = World::new(&pool).await;
    let spec = |deduplication_id: Option<&str>, serialize_key: Option<&str>| JobSpec {
        app_id: world.app,
        integration_id: world.lane,
        job_type: "test".to_owned(),
        correlation_id: "c".to_owned(),
        trace: None,
        payload: None,
        record: None,
        deduplication_id: deduplication_id.map(str::to_owned),
        serialize_key: serialize_key.map(str::to_owned),
        batch_id: None,
        priority: 0,
        run_at: None,
        gathers_until: None,
        expires_at: None,
        max_attempts: 3,
        timeout_ms: None,
        is_full: false,
    };
    let mut connection = pool.acquire().await.unwrap();
    jobs::enqueue(&mut connection, &[spec(Some("d"), None)]).await.unwrap();
    let claims = jobs::ClaimRequest {
        worker_id: model::id::WorkerId::generate(),
        wanted: 10,
        lane_cap: 10,
        busy: std::collections::HashMap::new(),
        program: None,
    };
    let leased = jobs::claim(&pool, &claims).await.unwrap().remove(0);
    let more = [spec(Some("d"), None), spec(None, Some("k")), spec(None, Some("k")), spec(None, None)];
    jobs::enqueue(&mut connection, &more).await.unwrap();
    assert_eq!(counts::drift(&pool).await.unwrap(), []);

    let done = start(&pool, &an_operator(), cancel(&world)).await;
    assert_eq!(counts(&done), (5, 5, 0));
    assert_eq!(world.number("select count(*) from headgate.jobs").await, 1, "the one that is processed");
    let stopped = jobs::AttemptEnd::of(&leased, Duration::ZERO, jobs::Ending::Cancelled { why: "cancelled" });
    assert_eq!(jobs::finish(&mut connection, &[stopped]).await.unwrap().applied, [jobs::Applied::Yes]);
    assert_eq!(world.number("select count(*) from headgate.jobs").await, 0);
    assert_eq!(world.number("select count(*) from headgate.ready").await, 0);
    assert_eq!(world.number("select count(*) from headgate.serialized_jobs").await, 0);
    assert_eq!(world.number("select count(*) from headgate.finished_jobs where status = 4").await, 5);
    assert_eq!(counts::drift(&pool).await.unwrap(), []);
}
