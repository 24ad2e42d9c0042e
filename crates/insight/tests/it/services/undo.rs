//! Undo of bulk operations.

use super::world::{World, lead, take_over};
use super::{an_operator, delete_expired};
use insight::services::RunOperations;
use insight::store::{failures, operations};
use model::actor::Scope;
use model::dead_letter::BinPageRequest;
use model::filter::JobFilter;
use model::id::{DeadLetterId, OperationId};
use model::operation::{
    BulkAction, BulkDone, BulkOutcome, BulkStart, BulkStarted, BulkSubject, NewBulk, Operation,
    OperationState, SkipReason, Skipped,
};
use queue::QueueError;
use queue::maintenance::Service as _;
use queue::store::leader::Term;
use queue::store::{counts, dead_letters};
use sqlx::PgPool;

fn of(world: &World, action: BulkAction) -> NewBulk {
    NewBulk {
        action,
        ids: None,
        filter: Some(JobFilter { integration_id: Some(world.lane), ..JobFilter::default() }),
        dry_run: false,
        rate_per_second: None,
        hold_seconds: Some(0),
        reason: None,
    }
}

/// Starts it, and runs it to the end if it is not done at once.
async fn done(world: &World, term: Term, subject: BulkSubject, new: NewBulk) -> OperationId {
    let id = match operations::start(&world.pool, &an_operator(), subject, new).await.unwrap() {
        BulkStart::Outcome(BulkOutcome::Started(BulkStarted { operation_id, .. })) => operation_id,
        BulkStart::Outcome(BulkOutcome::Done(BulkDone { operation_id, .. })) => operation_id.unwrap(),
        BulkStart::DryRun(_) => panic!("dry"),
    };
    run_to_the_end(world, term).await;
    id
}

async fn run_to_the_end(world: &World, term: Term) {
    while RunOperations.run_once(&world.pool, term).await.unwrap() {}
}

async fn undo(world: &World, id: OperationId) -> Result<Operation, QueueError> {
    let mut transaction = world.pool.begin().await.unwrap();
    let undone = operations::undo(&mut transaction, &an_operator(), id).await?;
    transaction.commit().await.unwrap();
    Ok(undone)
}

async fn get(world: &World, id: OperationId) -> Operation {
    operations::get(&world.pool, Scope::AllApps, id).await.unwrap()
}

/// Undoes it and returns the operation of the undo.
async fn undone(world: &World, term: Term, id: OperationId) -> Operation {
    let first = undo(world, id).await.unwrap();
    assert_eq!(first.state, OperationState::Undone);
    run_to_the_end(world, term).await;
    get(world, first.undone_by.unwrap()).await
}

async fn no_drift(world: &World) {
    assert_eq!(counts::drift(&world.pool).await.unwrap(), []);
}

const LETTERS: &str = "select count(*) from headgate.dead_letter_jobs";

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn requeued_dead_letters_are_restored_as_they_were_unless_they_were_tried(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world.dead_letters(world.lane, 130).await;
    world
        .run("update headgate.dead_letter_jobs set payload = '{\"n\": 1}', attempts = '[{\"attempt\": 1}]', serialize_key = 'k' || id")
        .await;
    let whole = "select md5(string_agg(d::text, ',' order by id)) from headgate.dead_letter_jobs d
        where job_id not in (select id from headgate.jobs)";
    let before: String = sqlx::query_scalar(whole).fetch_one(&pool).await.unwrap();
    let id = done(&world, term, BulkSubject::DeadLetters, of(&world, BulkAction::Requeue)).await;
    assert_eq!(get(&world, id).await.changed, 130);
    assert_eq!(world.number(LETTERS).await, 0);
    // One was tried and waits for its retry, and into another a change was folded.
    world
        .run(
            "with tried as (
                update headgate.jobs set status = 2, attempt = 1, retry_at = now()
                where id = (select id from headgate.jobs order by id limit 1) returning integration_id
            )
            insert into headgate.job_count_deltas (integration_id, status, attempt, n)
            select integration_id, 0, 0, -1 from tried union all select integration_id, 2, 1, 1 from tried;
            update headgate.jobs set folded = 1 where id = (select id from headgate.jobs where status = 0 order by id desc limit 1)",
        )
        .await;
    let undo = undone(&world, term, id).await;
    assert_eq!((undo.state, undo.changed, undo.skipped), (OperationState::Done, 128, 2));
    let one = |reason| Skipped { reason, count: 1 };
    let mut reasons = undo.skipped_reasons.clone();
    reasons.sort_by_key(|skipped| skipped.reason);
    assert_eq!(reasons, [one(SkipReason::Attempted), one(SkipReason::ChangedSince)]);
    assert_eq!((undo.action, undo.undoes), (BulkAction::Undo, Some(id)));
    assert_eq!(world.number(LETTERS).await, 128);
    assert_eq!(world.number("select count(*) from headgate.jobs").await, 2);
    assert_eq!(world.number("select count(*) from headgate.ready").await, 2);
    assert_eq!(
        world.number("select count(*) from headgate.finished_jobs").await,
        0,
        "they were not cancelled"
    );
    assert_eq!(world.number("select coalesce(sum(cancelled), 0) from headgate.throughput_deltas").await, 0);
    no_drift(&world).await;

    // A second undo, after which nothing was tried: every dead letter is as before.
    let again = done(&world, term, BulkSubject::DeadLetters, of(&world, BulkAction::Requeue)).await;
    assert_eq!(undone(&world, term, again).await.changed, 128);
    world.run("delete from headgate.jobs").await;
    let kept = world.number("select count(*) from headgate.bin where was = 'requeued'").await;
    assert_eq!(kept, 2, "those that could not be restored");
    world
        .run("insert into headgate.dead_letter_jobs select r.* from headgate.bin b cross join lateral jsonb_populate_record(null::headgate.dead_letter_jobs, b.letter) r")
        .await;
    let after: String = sqlx::query_scalar(whole).fetch_one(&pool).await.unwrap();
    assert_eq!(before, after);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn one_that_is_paused_midway_is_undone_as_far_as_it_got_whoever_leads(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world.dead_letters(world.lane, 700).await;
    let new = of(&world, BulkAction::Requeue);
    let started = operations::start(&pool, &an_operator(), BulkSubject::DeadLetters, new).await.unwrap();
    let BulkStart::Outcome(BulkOutcome::Started(BulkStarted { operation_id: id, .. })) = started else {
        panic!()
    };
    assert!(matches!(undo(&world, id).await, Err(QueueError::WrongOperationState { .. })), "nothing to undo");
    assert!(RunOperations.run_once(&pool, term).await.unwrap());
    operations::pause(&mut pool.acquire().await.unwrap(), Scope::AllApps, id).await.unwrap();
    assert_eq!(world.number(LETTERS).await, 200);
    let first = undo(&world, id).await.unwrap();
    assert!(first.finished_at.is_some() && first.undo_until.is_none());
    // The process that runs the undo dies after its first portion.
    let by = first.undone_by.unwrap();
    world
        .run(
            "create function public.die() returns trigger language plpgsql as $$ begin
                if new.changed > 250 then raise exception 'gone' using errcode = '57P01'; end if; return null; end $$;
            create trigger die after update on headgate.operations for each row execute function public.die()",
        )
        .await;
    let _ = RunOperations.run_once(&pool, term).await;
    let halfway = get(&world, by).await;
    assert_eq!((halfway.state, halfway.changed), (OperationState::Running, 250));
    world.run("drop trigger die on headgate.operations").await;
    let next = take_over(&pool).await;
    assert!(!RunOperations.run_once(&pool, term).await.is_ok_and(|more| more), "the old leader does nothing");
    run_to_the_end(&world, next).await;
    let undo_itself = get(&world, by).await;
    assert_eq!((undo_itself.state, undo_itself.changed, undo_itself.skipped), (OperationState::Done, 500, 0));
    assert_eq!(world.number(LETTERS).await, 700);
    assert!(matches!(undo(&world, id).await, Err(QueueError::WrongOperationState { .. })), "not twice");
    assert!(
        matches!(undo(&world, by).await, Err(QueueError::WrongOperationState { .. })),
        "no undo of an undo"
    );
    no_drift(&world).await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn cancelled_jobs_are_restored_with_their_state_and_attempts(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world.pending(world.lane, 60, 30).await;
    world.to_be_retried(world.lane, 50, 3).await;
    world.run("update headgate.jobs set error_message = 'upstream is out of order' where status = 2").await;
    let states = "select md5(string_agg(concat_ws('|', id, status, attempt, retry_at, run_at, error_message), ',' order by id))
        from headgate.jobs";
    let before: String = sqlx::query_scalar(states).fetch_one(&pool).await.unwrap();
    let id = done(&world, term, BulkSubject::Jobs, of(&world, BulkAction::Cancel)).await;
    assert_eq!(world.number("select count(*) from headgate.jobs").await, 0);
    let undo = undone(&world, term, id).await;
    assert_eq!((undo.changed, undo.skipped), (110, 0));
    let after: String = sqlx::query_scalar(states).fetch_one(&pool).await.unwrap();
    assert_eq!(before, after);
    assert_eq!(world.number("select count(*) from headgate.ready").await, 60);
    assert_eq!(world.number("select count(*) from headgate.waiting where due_at > now()").await, 50);
    no_drift(&world).await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn requeued_jobs_wait_again_or_are_cancelled_again(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world.to_be_retried(world.lane, 20, 4).await;
    let id = done(&world, term, BulkSubject::Jobs, of(&world, BulkAction::Requeue)).await;
    assert_eq!(counts::counts(&pool, world.lane).await.unwrap().backlog, 20);
    assert_eq!(undone(&world, term, id).await.changed, 20);
    assert_eq!(world.number("select count(*) from headgate.jobs where status = 2 and attempt = 4").await, 20);
    assert_eq!(world.number("select count(*) from headgate.waiting").await, 20);
    no_drift(&world).await;

    done(&world, term, BulkSubject::Jobs, of(&world, BulkAction::Cancel)).await;
    let mut cancelled = of(&world, BulkAction::Requeue);
    cancelled.filter.as_mut().unwrap().status = Some(model::job::JobStatus::Cancelled);
    let id = done(&world, term, BulkSubject::Jobs, cancelled).await;
    assert_eq!(undone(&world, term, id).await.changed, 20);
    assert_eq!(world.number("select count(*) from headgate.finished_jobs where status = 4").await, 20);
    assert_eq!(world.number("select count(*) from headgate.jobs").await, 0);
    no_drift(&world).await;
}

/// Live jobs that have failed, by cause.
const FAILING: &str = "select count(*) from headgate.failing_jobs";

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn restored_jobs_count_among_the_failures_of_their_cause_again(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world.to_be_retried(world.lane, 20, 2).await;
    world.pending(world.lane, 100, 0).await;
    world.run("update headgate.failing_jobs set fingerprint = '00000000000000ff-0'").await;
    for action in [BulkAction::Cancel, BulkAction::Requeue] {
        let id = done(&world, term, BulkSubject::Jobs, of(&world, action)).await;
        assert_eq!(world.number(FAILING).await, 0, "{action:?}");
        undone(&world, term, id).await;
        assert_eq!(world.number(FAILING).await, 20, "{action:?}");
    }
    while failures::fold(&pool, term).await.unwrap() > 0 {}
    assert_eq!(world.number("select sum(waiting)::bigint from headgate.failure_counts").await, 20);
    no_drift(&world).await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn purged_dead_letters_stay_in_the_bin_for_a_day(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world.dead_letters(world.lane, 120).await;
    let id = done(&world, term, BulkSubject::DeadLetters, of(&world, BulkAction::Purge)).await;
    assert_eq!(world.number(LETTERS).await, 0);
    let first = BinPageRequest { limit: 50, after: None };
    let first = insight::store::dead_letters::binned(&pool, Scope::AllApps, first).await.unwrap();
    // The last one of a page is restored before the next page is read: paging continues all the same.
    let mut connection = pool.acquire().await.unwrap();
    dead_letters::restore(&mut connection, Scope::AllApps, first.items[49].letter.id).await.unwrap();
    let next = BinPageRequest::parse(Some(50), first.next_cursor.as_deref()).unwrap();
    let second = insight::store::dead_letters::binned(&pool, Scope::AllApps, next).await.unwrap();
    assert_eq!((first.items.len(), second.items.len()), (50, 50));
    assert!(second.items.iter().all(|binned| !first.items.contains(binned)));
    let one = first.items[0].letter.id;
    dead_letters::restore(&mut connection, Scope::AllApps, one).await.unwrap();
    assert!(matches!(
        dead_letters::restore(&mut connection, Scope::AllApps, one).await,
        Err(QueueError::NotFound)
    ));
    let back = undone(&world, term, id).await;
    assert_eq!((back.matched, back.changed, back.skipped), (118, 118, 0));
    assert_eq!(world.number(LETTERS).await, 120);
    no_drift(&world).await;

    // A day later they are gone for good and cannot be restored.
    let id = done(&world, term, BulkSubject::DeadLetters, of(&world, BulkAction::Purge)).await;
    world
        .run(
            "update headgate.bin set binned_at = binned_at - interval '24 hours';
            update headgate.operations set finished_at = finished_at - interval '24 hours'",
        )
        .await;
    assert!(matches!(undo(&world, id).await, Err(QueueError::WrongOperationState { .. })));
    while delete_expired(&pool, term).await.unwrap() {}
    assert_eq!(world.number("select count(*) from headgate.bin").await, 0);
    let gone = dead_letters::restore(&mut connection, Scope::AllApps, DeadLetterId::generate()).await;
    assert!(matches!(gone, Err(QueueError::NotFound)));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_small_one_whose_process_died_is_done_by_the_leader(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world.dead_letters(world.lane, 3).await;
    let new = of(&world, BulkAction::Requeue);
    let prepared = operations::prepare(&pool, &an_operator(), BulkSubject::DeadLetters, new).await.unwrap();
    let id = prepared.store(&mut pool.acquire().await.unwrap()).await.unwrap().unwrap();
    run_to_the_end(&world, term).await;
    assert_eq!(
        get(&world, id).await.changed,
        0,
        "the leader leaves it to the process that started it for a while"
    );
    world.run("update headgate.operations set paced_until = clock_timestamp()").await;
    run_to_the_end(&world, term).await;
    let done = get(&world, id).await;
    assert_eq!((done.state, done.changed), (OperationState::Done, 3));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn skipped_jobs_have_a_reason(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    let ids = world.pending(world.lane, 4, 0).await;
    let named = |action| NewBulk {
        ids: Some(ids.iter().map(|id| id.0).collect()),
        filter: None,
        ..of(&world, action)
    };
    let requeued = done(&world, term, BulkSubject::Jobs, named(BulkAction::Requeue)).await;
    let pending = [Skipped { reason: SkipReason::Pending, count: 4 }];
    assert_eq!(get(&world, requeued).await.skipped_reasons, pending);
    done(&world, term, BulkSubject::Jobs, named(BulkAction::Cancel)).await;
    let again = done(&world, term, BulkSubject::Jobs, named(BulkAction::Cancel)).await;
    let again = get(&world, again).await;
    assert_eq!(again.skipped_reasons, [Skipped { reason: SkipReason::Cancelled, count: 4 }]);
    assert_eq!((again.undo_until, again.named), (None, Some(4)), "nothing was changed");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_dry_run_of_a_requeue_says_what_it_adds_to_each_limit(pool: PgPool) {
    let world = World::new(&pool).await;
    let other = world.another_lane().await;
    world.dead_letters(world.lane, 300).await;
    world.dead_letters(other, 10).await;
    world.pending(world.lane, 20, 0).await;
    world
        .run("insert into headgate.rate_limits (key, requests, per_seconds, emission_us) values ('slow', 20, 1, 50000)")
        .await;
    sqlx::query("update headgate.lanes set limit_keys = '{slow}' where integration_id = $1")
        .bind(world.lane)
        .execute(&pool)
        .await
        .unwrap();
    let filter = Some(JobFilter { app_id: Some(world.app), ..JobFilter::default() });
    let new = NewBulk { dry_run: true, filter, ..of(&world, BulkAction::Requeue) };
    let start = operations::start(&pool, &an_operator(), BulkSubject::DeadLetters, new).await.unwrap();
    let BulkStart::DryRun(dry) = start else { panic!() };
    let loads: Vec<_> = dry
        .added_load
        .iter()
        .map(|load| {
            (load.integration_ids.clone(), load.added, load.pending, load.requests, load.drain_seconds)
        })
        .collect();
    assert_eq!(loads, [(vec![world.lane], 300, 20, Some(20), Some(16)), (vec![other], 10, 0, None, None)]);
    assert_eq!((dry.eta_seconds, dry.sample_rows.len()), (Some(16), 5));
}
