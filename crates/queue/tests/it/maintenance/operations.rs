//! Bulk actions.

use super::world::{World, an_operator, lead, take_over};
use model::{
    actor::{Actor, Role, Scope},
    filter::JobFilter,
    id::{AppId, OperationId},
    job::JobStatus,
    operation::{BulkAction, BulkOutcome, BulkSubject, NewBulk, OperationState},
    page::PageRequest,
};
use queue::{
    QueueError,
    maintenance::{RunOperations, Service as _},
    store::{
        jobs::{self, JobSpec},
        leader::Term,
        operations::{self, BulkStart},
        stats,
    },
};
use sqlx::PgPool;
use std::time::Duration;
use uuid::Uuid;

fn cancel(world: &World) -> NewBulk {
    NewBulk {
        action: BulkAction::Cancel,
        ids: None,
        filter: Some(JobFilter { integration_id: Some(world.lane), ..JobFilter::default() }),
        dry_run: false,
        rate_per_second: None,
        hold_seconds: Some(0),
        reason: Some("wrong catalog".to_owned()),
    }
}

async fn start(pool: &PgPool, actor: &Actor, new: NewBulk) -> BulkStart {
    operations::start(pool, actor, BulkSubject::Jobs, new).await.unwrap()
}

async fn started(pool: &PgPool, new: NewBulk) -> OperationId {
    match start(pool, &an_operator(), new).await {
        BulkStart::Outcome(BulkOutcome::Started { operation_id, .. }) => operation_id,
        other => panic!("{other:?}"),
    }
}

/// Matched, changed, skipped of a small one.
fn counts(start: &BulkStart) -> (i64, i64, i64) {
    match start {
        BulkStart::Outcome(BulkOutcome::Done { matched, changed, skipped, .. }) => {
            (*matched, *changed, *skipped)
        }
        other => panic!("{other:?}"),
    }
}

async fn run(pool: &PgPool, term: Term) -> bool {
    RunOperations.run_once(pool, term).await.unwrap()
}

async fn state(pool: &PgPool, id: OperationId) -> (OperationState, i64, i64) {
    let operation = operations::get(pool, Scope::AllApps, id).await.unwrap();
    (operation.state, operation.changed, operation.skipped)
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn up_to_a_hundred_are_done_at_once_and_what_cannot_be_is_skipped(pool: PgPool) {
    let world = World::new(&pool).await;
    let ids = world.pending(world.lane, 100, 0).await;
    let by_ids = NewBulk { ids: Some(ids.iter().map(|id| id.0).collect()), filter: None, ..cancel(&world) };
    let done = start(&pool, &an_operator(), by_ids.clone()).await;
    assert_eq!(counts(&done), (100, 100, 0));
    // They are cancelled already; an id nobody knows does not match.
    let mut again = by_ids;
    again.ids.as_mut().unwrap()[0] = Uuid::now_v7();
    assert_eq!(counts(&start(&pool, &an_operator(), again).await), (99, 0, 99));
    // By filter only live ones are meant.
    assert_eq!(counts(&start(&pool, &an_operator(), cancel(&world)).await), (0, 0, 0));
    assert_eq!(stats::drift(&pool).await.unwrap(), []);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn what_is_being_processed_is_asked_for_and_counts_as_changed(pool: PgPool) {
    let world = World::new(&pool).await;
    world.pending(world.lane, 30, 0).await;
    // More than one notification names.
    world.processing(world.lane, 210).await;
    let mut heard = sqlx::postgres::PgListener::connect_with(&pool).await.unwrap();
    heard.listen("headgate_cancels").await.unwrap();
    let term = lead(&pool).await;
    let id = started(&pool, cancel(&world)).await;
    while run(&pool, term).await {}
    assert_eq!(state(&pool, id).await, (OperationState::Done, 240, 0));
    let marked: Vec<Uuid> = sqlx::query_scalar(
        "select assignment_id from headgate.jobs where status = 1 and cancel_requested_of = assignment_id order by 1",
    )
    .fetch_all(&pool)
    .await
    .unwrap();
    assert_eq!(marked.len(), 210, "each keeps its lease");
    let mut told = Vec::new();
    while told.len() < marked.len() {
        let payload = heard.recv().await.unwrap().payload().to_owned();
        assert!(payload.len() < 8_000);
        told.extend(payload.split(',').map(|id| id.parse::<Uuid>().unwrap()));
    }
    told.sort_unstable();
    assert_eq!(told, marked);
    let by_ids = NewBulk {
        ids: Some(sqlx::query_scalar("select id from headgate.jobs limit 5").fetch_all(&pool).await.unwrap()),
        filter: None,
        ..cancel(&world)
    };
    let asked = start(&pool, &an_operator(), by_ids).await;
    assert_eq!(counts(&asked), (5, 5, 0), "asking again is harmless");
    assert_eq!(stats::drift(&pool).await.unwrap(), []);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_dry_run_counts_exactly_and_touches_nothing(pool: PgPool) {
    let world = World::new(&pool).await;
    let ids = world.pending(world.lane, 130, 0).await;
    world.to_be_retried(world.lane, 7, 1).await;
    let other = world.another_lane().await;
    world.pending(other, 5, 0).await;
    let new = NewBulk { dry_run: true, rate_per_second: Some(10), hold_seconds: None, ..cancel(&world) };
    let BulkStart::DryRun(dry) = start(&pool, &an_operator(), new).await else { panic!("not dry") };
    assert_eq!(dry.matched, 137);
    assert_eq!(
        dry.breakdown.iter().map(|part| (part.status, part.count)).collect::<Vec<_>>(),
        [(JobStatus::Pending, 130), (JobStatus::ToBeRetried, 7)]
    );
    assert_eq!(dry.sample.len(), 5);
    assert_eq!(dry.eta_seconds, Some(30 + 14));
    assert!(!ids.is_empty());
    assert_eq!(stats::counts(&pool, world.lane).await.unwrap().backlog, 130);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn more_are_held_then_worked_off_and_later_jobs_are_not_touched(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world.pending(world.lane, 620, 0).await;
    let id = started(&pool, NewBulk { hold_seconds: None, ..cancel(&world) }).await;
    world.pending(world.lane, 3, 0).await;
    assert!(!run(&pool, term).await);
    assert_eq!(state(&pool, id).await, (OperationState::Held, 0, 0));

    world.run("update headgate.operations set hold_until = clock_timestamp()").await;
    assert!(run(&pool, term).await);
    assert_eq!(state(&pool, id).await, (OperationState::Running, 500, 0));
    while run(&pool, term).await {}
    assert_eq!(state(&pool, id).await, (OperationState::Done, 620, 0));
    assert_eq!(stats::counts(&pool, world.lane).await.unwrap().backlog, 3);
    assert_eq!(stats::drift(&pool).await.unwrap(), []);
    let operation = operations::get(&pool, Scope::AllApps, id).await.unwrap();
    assert!(operation.started_at.is_some() && operation.finished_at.is_some());
    assert_eq!(operation.requested_by, "ops@example.test");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn what_came_to_its_end_meanwhile_is_counted_as_skipped(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    let ids = world.pending(world.lane, 150, 0).await;
    let id = started(&pool, cancel(&world)).await;
    let some =
        NewBulk { ids: Some(ids[..10].iter().map(|id| id.0).collect()), filter: None, ..cancel(&world) };
    start(&pool, &an_operator(), some).await;
    while run(&pool, term).await {}
    assert_eq!(state(&pool, id).await, (OperationState::Done, 140, 10));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_chosen_rate_is_kept_whoever_leads(pool: PgPool) {
    let world = World::new(&pool).await;
    let mut term = lead(&pool).await;
    world.pending(world.lane, 200, 0).await;
    let id = started(&pool, NewBulk { rate_per_second: Some(1), ..cancel(&world) }).await;
    for round in 1..=3 {
        assert!(!run(&pool, term).await);
        assert_eq!(state(&pool, id).await.1, round);
        // Too early, for a new leader too.
        term = take_over(&pool).await;
        run(&pool, term).await;
        assert_eq!(state(&pool, id).await.1, round);
        let wait = operations::unfinished(&pool).await.unwrap()[0].wait_ms;
        assert!((1..=1_000).contains(&wait), "{wait}");
        world.run("update headgate.operations set paced_until = clock_timestamp()").await;
    }
    // Whoever was late catches up, but not with more than a second.
    world
        .run("update headgate.operations set rate_per_second = 40, paced_until = clock_timestamp() - interval '1 minute'")
        .await;
    run(&pool, term).await;
    assert_eq!(state(&pool, id).await.1, 3 + 50);
    let ahead = "select (extract(epoch from paced_until - clock_timestamp()) * 1000)::bigint from headgate.operations";
    assert!((-2_000..=250).contains(&world.number(ahead).await));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn it_is_paused_resumed_and_aborted_and_goes_on_where_it_stood(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world.pending(world.lane, 600, 0).await;
    let id = started(&pool, cancel(&world)).await;
    assert!(run(&pool, term).await);
    let all = Scope::AllApps;
    assert_eq!(
        operations::pause(&mut pool.acquire().await.unwrap(), all, id).await.unwrap().state,
        OperationState::Paused
    );
    assert!(!run(&pool, term).await);
    assert_eq!(state(&pool, id).await, (OperationState::Paused, 500, 0));
    assert_eq!(
        operations::resume(&mut pool.acquire().await.unwrap(), all, id).await.unwrap().state,
        OperationState::Running
    );
    let aborted = operations::abort(&mut pool.acquire().await.unwrap(), all, id).await.unwrap();
    assert!(aborted.state == OperationState::Aborted && aborted.finished_at.is_some());
    assert!(!run(&pool, term).await);
    assert_eq!(state(&pool, id).await, (OperationState::Aborted, 500, 0));
    assert_eq!(stats::counts(&pool, world.lane).await.unwrap().backlog, 100);
    for refused in [
        operations::pause(&mut pool.acquire().await.unwrap(), all, id).await,
        operations::resume(&mut pool.acquire().await.unwrap(), all, id).await,
        operations::abort(&mut pool.acquire().await.unwrap(), all, id).await,
        operations::resume(&mut pool.acquire().await.unwrap(), all, id).await,
    ] {
        let is_refused =
            matches!(refused, Err(QueueError::WrongOperationState { state: OperationState::Aborted, .. }));
        assert!(is_refused);
    }
    assert!(matches!(
        operations::pause(&mut pool.acquire().await.unwrap(), all, OperationId::generate()).await,
        Err(QueueError::NotFound)
    ));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_held_one_is_withdrawn_with_nothing_touched(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world.pending(world.lane, 101, 0).await;
    let id = started(&pool, NewBulk { hold_seconds: Some(3_600), ..cancel(&world) }).await;
    operations::pause(&mut pool.acquire().await.unwrap(), Scope::AllApps, id).await.unwrap();
    assert_eq!(
        operations::resume(&mut pool.acquire().await.unwrap(), Scope::AllApps, id).await.unwrap().state,
        OperationState::Held
    );
    operations::abort(&mut pool.acquire().await.unwrap(), Scope::AllApps, id).await.unwrap();
    assert!(!run(&pool, term).await);
    assert_eq!(stats::counts(&pool, world.lane).await.unwrap().backlog, 101);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_old_leader_goes_on_with_nothing(pool: PgPool) {
    let world = World::new(&pool).await;
    let old = lead(&pool).await;
    world.pending(world.lane, 101, 0).await;
    let id = started(&pool, cancel(&world)).await;
    operations::begin_held(&pool, old).await.unwrap();
    take_over(&pool).await;
    assert!(!operations::run_chunk(&pool, old, id).await.unwrap());
    assert_eq!(state(&pool, id).await, (OperationState::Running, 0, 0));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn dead_letters_are_requeued_and_purged_by_filter(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    let other = world.another_lane().await;
    world.dead_letters(world.lane, 120).await;
    world.dead_letters(other, 20).await;
    let of = |lane| Some(JobFilter { integration_id: Some(lane), ..JobFilter::default() });
    let requeue = NewBulk { action: BulkAction::Requeue, ..cancel(&world) };
    let begun = operations::start(&pool, &an_operator(), BulkSubject::DeadLetters, requeue).await.unwrap();
    assert!(matches!(begun, BulkStart::Outcome(BulkOutcome::Started { matched: 120, .. })));
    while run(&pool, term).await {}
    let purge = NewBulk { action: BulkAction::Purge, filter: of(other), ..cancel(&world) };
    let done = operations::start(&pool, &an_operator(), BulkSubject::DeadLetters, purge).await.unwrap();
    assert_eq!(counts(&done), (20, 20, 0));
    assert_eq!(world.number("select count(*) from headgate.dead_letter_jobs").await, 0);
    assert_eq!(stats::counts(&pool, world.lane).await.unwrap().backlog, 120);
    assert_eq!(stats::counts(&pool, other).await.unwrap(), stats::LaneCounts::default());
    assert_eq!(stats::drift(&pool).await.unwrap(), []);
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
async fn a_row_that_cannot_be_changed_is_passed_over_and_named(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    let ids = world.pending(world.lane, 120, 0).await;
    sqlx::query("update headgate.jobs set job_type = 'cursed' where id = $1")
        .bind(ids[60])
        .execute(&pool)
        .await
        .unwrap();
    world
        .run(
            "create function public.refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
            create trigger refuse before delete on headgate.jobs for each row when (old.job_type = 'cursed')
                execute function public.refuse()",
        )
        .await;
    let id = started(&pool, cancel(&world)).await;
    while run(&pool, term).await {}
    assert_eq!(state(&pool, id).await, (OperationState::Done, 119, 1));
    let named = "select position((select id::text from headgate.jobs) in error_message)::bigint from headgate.operations";
    assert!(world.number(named).await > 0);
    assert_eq!(stats::drift(&pool).await.unwrap(), []);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_button_touches_what_its_list_shows(pool: PgPool) {
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
        (JobFilter { status: Some(JobStatus::ToBeRetried), ..JobFilter::default() }, BulkAction::Cancel, 2),
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
        // Where no status is asked for, the list shows those too that the action is not about.
        if filter.status.is_some() || filter.error.is_some() || filter.q.is_some() {
            let listed = jobs::list(&pool, Scope::AllApps, &filter, PageRequest::default()).await.unwrap();
            assert_eq!(listed.items.len(), usize::try_from(count).unwrap(), "{filter:?}");
        }
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn called_off_jobs_come_back_only_when_they_are_asked_for(pool: PgPool) {
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
    assert_eq!(stats::counts(&pool, world.lane).await.unwrap().backlog, 5);
    assert_eq!(stats::drift(&pool).await.unwrap(), []);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn changes_behind_processing_jobs_and_keyed_jobs_are_called_off_with_the_rest(pool: PgPool) {
    let world = World::new(&pool).await;
    let spec = |deduplication_id: Option<&str>, serialize_key: Option<&str>| JobSpec {
        app_id: world.app,
        integration_id: world.lane,
        job_type: "test".to_owned(),
        correlation_id: "c".to_owned(),
        payload: None,
        record: None,
        deduplication_id: deduplication_id.map(str::to_owned),
        serialize_key: serialize_key.map(str::to_owned),
        batch_id: None,
        priority: 0,
        run_at: None,
        expires_at: None,
        max_attempts: 3,
        timeout_ms: None,
        is_full: false,
    };
    let mut connection = pool.acquire().await.unwrap();
    jobs::enqueue(&mut connection, &[spec(Some("d"), None)]).await.unwrap();
    let claims = jobs::Claims {
        worker_id: model::id::WorkerId::generate(),
        wanted: 10,
        lane_cap: 10,
        busy: std::collections::HashMap::new(),
        program: None,
    };
    let held = jobs::claim(&pool, &claims).await.unwrap().remove(0);
    let more = [spec(Some("d"), None), spec(None, Some("k")), spec(None, Some("k")), spec(None, None)];
    jobs::enqueue(&mut connection, &more).await.unwrap();
    assert_eq!(stats::drift(&pool).await.unwrap(), []);

    let done = start(&pool, &an_operator(), cancel(&world)).await;
    assert_eq!(counts(&done), (5, 5, 0));
    assert_eq!(world.number("select count(*) from headgate.jobs").await, 1, "the one that is processed");
    let stopped = jobs::End::of(&held, Duration::ZERO, jobs::Ending::Cancelled { why: "cancelled" });
    assert_eq!(jobs::finish(&mut connection, &[stopped]).await.unwrap(), [jobs::Applied::Yes]);
    assert_eq!(world.number("select count(*) from headgate.jobs").await, 0);
    assert_eq!(world.number("select count(*) from headgate.ready").await, 0);
    assert_eq!(world.number("select count(*) from headgate.serialized_jobs").await, 0);
    assert_eq!(world.number("select count(*) from headgate.finished_jobs where status = 4").await, 5);
    assert_eq!(stats::drift(&pool).await.unwrap(), []);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn rows_that_lose_a_race_each_are_all_done_in_the_end(pool: PgPool) {
    let world = World::new(&pool).await;
    world.pending(world.lane, 120, 0).await;
    let id = started(&pool, cancel(&world)).await;
    // Whoever notes more than one row at once is the victim of a deadlock, and every third of the others.
    sqlx::raw_sql(
        "create sequence calls;
         create function lose_a_race() returns trigger language plpgsql as $$ begin
            if new.changed > old.changed + 1 or nextval('calls') % 3 = 1 then raise exception 'injected' using errcode = '40P01'; end if;
            return null;
         end $$;
         create trigger lose_a_race after update on headgate.operations for each row execute function lose_a_race()",
    )
    .execute(&pool)
    .await
    .unwrap();
    let term = lead(&pool).await;
    while state(&pool, id).await.0 != OperationState::Done {
        // What failed is run again, as its loop does.
        let _ = RunOperations.run_once(&pool, term).await;
    }
    assert_eq!(state(&pool, id).await, (OperationState::Done, 120, 0), "none is passed over");
    assert!(world.number("select last_value from calls").await > 160, "more races than one row may lose");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_that_somebody_holds_keeps_no_other_from_being_changed(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    let ids = world.pending(world.lane, 130, 0).await;
    let id = started(&pool, cancel(&world)).await;
    // A producer that does not commit.
    let mut producer = pool.begin().await.unwrap();
    sqlx::query("select 1 from headgate.jobs where id = $1 for update")
        .bind(ids[7].0)
        .execute(&mut *producer)
        .await
        .unwrap();
    let running = tokio::spawn({
        let pool = pool.clone();
        async move { run(&pool, term).await }
    });
    // Those before it at least: it is tried for a while, row by row.
    while world.number("select count(*) from headgate.finished_jobs").await < 7 {
        tokio::task::yield_now().await;
    }
    producer.commit().await.unwrap();
    running.await.unwrap();
    assert_eq!(state(&pool, id).await, (OperationState::Done, 130, 0));
    assert_eq!(stats::drift(&pool).await.unwrap(), []);
}
