//! Running bulk operations: at once or held, at a rate, through changes of leader, races and rows that cannot be changed.

use super::an_operator;
use super::world::{World, lead, take_over};
use insight::{services::RunOperations, store::operations};
use model::actor::{Actor, Scope};
use model::filter::JobFilter;
use model::id::OperationId;
use model::job::JobStatus;
use model::operation::{
    BulkAction, BulkDone, BulkOutcome, BulkStart, BulkStarted, BulkSubject, NewBulk, OperationState,
};
use queue::QueueError;
use queue::maintenance::Service as _;
use queue::store::counts;
use queue::store::leader::Term;
use sqlx::PgPool;
use uuid::Uuid;

pub(super) fn cancel(world: &World) -> NewBulk {
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

pub(super) async fn start(pool: &PgPool, actor: &Actor, new: NewBulk) -> BulkStart {
    operations::start(pool, actor, BulkSubject::Jobs, new).await.unwrap()
}

async fn started(pool: &PgPool, new: NewBulk) -> OperationId {
    match start(pool, &an_operator(), new).await {
        BulkStart::Outcome(BulkOutcome::Started(BulkStarted { operation_id, .. })) => operation_id,
        other => panic!("{other:?}"),
    }
}

/// Matched, changed and skipped of one that was done at once.
pub(super) fn counts(start: &BulkStart) -> (i64, i64, i64) {
    match start {
        BulkStart::Outcome(BulkOutcome::Done(BulkDone { matched, changed, skipped, .. })) => {
            (*matched, *changed, *skipped)
        }
        other => panic!("{other:?}"),
    }
}

pub(super) async fn run(pool: &PgPool, term: Term) -> bool {
    RunOperations.run_once(pool, term).await.unwrap()
}

async fn state(pool: &PgPool, id: OperationId) -> (OperationState, i64, i64) {
    let operation = operations::get(pool, Scope::AllApps, id).await.unwrap();
    (operation.state, operation.changed, operation.skipped)
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn up_to_a_hundred_are_done_at_once_and_others_are_skipped(pool: PgPool) {
    let world = World::new(&pool).await;
    let ids = world.pending(world.lane, 100, 0).await;
    let by_ids = NewBulk { ids: Some(ids.iter().map(|id| id.0).collect()), filter: None, ..cancel(&world) };
    let done = start(&pool, &an_operator(), by_ids.clone()).await;
    assert_eq!(counts(&done), (100, 100, 0));
    // They are cancelled already; an unknown id does not match.
    let mut again = by_ids;
    again.ids.as_mut().unwrap()[0] = Uuid::now_v7();
    assert_eq!(counts(&start(&pool, &an_operator(), again).await), (99, 0, 99));
    // A filter selects live jobs only.
    assert_eq!(counts(&start(&pool, &an_operator(), cancel(&world)).await), (0, 0, 0));
    assert_eq!(counts::drift(&pool).await.unwrap(), []);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_cancel_request_for_a_processing_job_counts_as_changed(pool: PgPool) {
    let world = World::new(&pool).await;
    world.pending(world.lane, 30, 0).await;
    // More jobs than one notification can name.
    world.processing(world.lane, 210).await;
    let mut listener = sqlx::postgres::PgListener::connect_with(&pool).await.unwrap();
    listener.listen("headgate_cancels").await.unwrap();
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
    let mut notified = Vec::new();
    while notified.len() < marked.len() {
        let payload = listener.recv().await.unwrap().payload().to_owned();
        assert!(payload.len() < 8_000);
        notified.extend(payload.split(',').map(|id| id.parse::<Uuid>().unwrap()));
    }
    notified.sort_unstable();
    assert_eq!(notified, marked);
    let by_ids = NewBulk {
        ids: Some(sqlx::query_scalar("select id from headgate.jobs limit 5").fetch_all(&pool).await.unwrap()),
        filter: None,
        ..cancel(&world)
    };
    let asked = start(&pool, &an_operator(), by_ids).await;
    assert_eq!(counts(&asked), (5, 5, 0), "requesting it again is harmless");
    assert_eq!(counts::drift(&pool).await.unwrap(), []);
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
    assert_eq!(counts::counts(&pool, world.lane).await.unwrap().backlog, 130);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn more_are_held_then_run_and_later_jobs_are_not_touched(pool: PgPool) {
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
    assert_eq!(counts::counts(&pool, world.lane).await.unwrap().backlog, 3);
    assert_eq!(counts::drift(&pool).await.unwrap(), []);
    let operation = operations::get(&pool, Scope::AllApps, id).await.unwrap();
    assert!(operation.started_at.is_some() && operation.finished_at.is_some());
    assert_eq!(operation.requested_by, "ops@example.test");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn jobs_that_ended_meanwhile_count_as_skipped(pool: PgPool) {
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
async fn the_rate_is_kept_whoever_leads(pool: PgPool) {
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
        let wait = operations::running(&pool).await.unwrap()[0].wait_ms;
        assert!((1..=1_000).contains(&wait), "{wait}");
        world.run("update headgate.operations set paced_until = clock_timestamp()").await;
    }
    // A late run catches up, but by no more than a second.
    world
        .run("update headgate.operations set rate_per_second = 40, paced_until = clock_timestamp() - interval '1 minute'")
        .await;
    run(&pool, term).await;
    assert_eq!(state(&pool, id).await.1, 3 + 50);
    let ahead = "select (extract(epoch from paced_until - clock_timestamp()) * 1000)::bigint from headgate.operations";
    assert!((-2_000..=250).contains(&world.number(ahead).await));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn it_is_paused_resumed_and_aborted_and_continues_where_it_was(pool: PgPool) {
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
    assert_eq!(counts::counts(&pool, world.lane).await.unwrap().backlog, 100);
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
async fn a_held_one_is_withdrawn_without_changes(pool: PgPool) {
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
    assert_eq!(counts::counts(&pool, world.lane).await.unwrap().backlog, 101);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_former_leader_continues_nothing(pool: PgPool) {
    let world = World::new(&pool).await;
    let old = lead(&pool).await;
    world.pending(world.lane, 101, 0).await;
    let id = started(&pool, cancel(&world)).await;
    operations::begin_held(&pool, old).await.unwrap();
    take_over(&pool).await;
    assert!(!operations::run_portion(&pool, old, id).await.unwrap());
    assert_eq!(state(&pool, id).await, (OperationState::Running, 0, 0));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_row_that_cannot_be_changed_is_skipped_and_named(pool: PgPool) {
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
    assert_eq!(counts::drift(&pool).await.unwrap(), []);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn rows_that_each_lose_races_are_all_done_in_the_end(pool: PgPool) {
    let world = World::new(&pool).await;
    world.pending(world.lane, 120, 0).await;
    let id = started(&pool, cancel(&world)).await;
    // An update that counts more than one row loses a race, and so does every third of the others.
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
        // A failed run is repeated, as its loop does.
        let _ = RunOperations.run_once(&pool, term).await;
    }
    assert_eq!(state(&pool, id).await, (OperationState::Done, 120, 0), "none is skipped");
    assert!(
        world.number("select last_value from calls").await > 160,
        "more races than a single row may lose"
    );
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_locked_job_keeps_no_other_from_being_changed(pool: PgPool) {
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
    // At least the seven before it; the locked one is tried for a while, row by row.
    while world.number("select count(*) from headgate.finished_jobs").await < 7 {
        tokio::task::yield_now().await;
    }
    producer.commit().await.unwrap();
    running.await.unwrap();
    assert_eq!(state(&pool, id).await, (OperationState::Done, 130, 0));
    assert_eq!(counts::drift(&pool).await.unwrap(), []);
}
