//! A job that returns to the line of its serialize key goes behind the jobs that are there, however it returns.

use crate::support::{World, end, retried, sent, until};
use insight::services::RunOperations;
use insight::store::{explain, operations};
use model::actor::{Actor, ActorKind, Role, Scope};
use model::id::{IntegrationId, JobId, OperationId, WorkerId};
use model::job::JobStatus;
use model::operation::{BulkAction, BulkDone, BulkOutcome, BulkStart, BulkSubject, NewBulk};
use model::rules::explain::ReasonCode;
use queue::maintenance::Service as _;
use queue::store::jobs::{self, ClaimedJob, Ending, JobSpec};
use queue::store::leader;
use sqlx::PgPool;
use std::time::Duration;

/// The state of job A when it was cancelled.
#[derive(Clone, Copy, Debug, PartialEq)]
enum StateBefore {
    Retried { wait: Duration },
    Processing,
}

const STATES_BEFORE: [StateBefore; 3] = [
    StateBefore::Retried { wait: Duration::ZERO },
    StateBefore::Retried { wait: Duration::from_secs(3_600) },
    StateBefore::Processing,
];

/// Jobs of the key `k`: A was cancelled and that was undone, B is being processed meanwhile, and C came last.
struct Line {
    world: World,
    worker: WorkerId,
    a: JobId,
    b: ClaimedJob,
    c: JobId,
}

fn operator(world: &World) -> Actor {
    Actor {
        kind: ActorKind::System,
        name: "ops".to_owned(),
        role: Role::Operator,
        app_id: Some(world.app_id),
    }
}

/// Applies a bulk action to one job, without hold.
async fn in_bulk(world: &World, action: BulkAction, id: JobId) -> OperationId {
    let new = NewBulk {
        action,
        ids: Some(vec![id.0]),
        filter: None,
        dry_run: false,
        rate_per_second: None,
        hold_seconds: None,
        reason: None,
    };
    match operations::start(&world.pool, &operator(world), BulkSubject::Jobs, new).await.unwrap() {
        BulkStart::Outcome(BulkOutcome::Done(BulkDone {
            changed: 1, operation_id: Some(operation), ..
        })) => operation,
        other => panic!("{other:?}"),
    }
}

async fn undo(world: &World, operation: OperationId) {
    let mut transaction = world.pool.begin().await.unwrap();
    operations::undo(&mut transaction, &operator(world), operation).await.unwrap();
    transaction.commit().await.unwrap();
    let mut connection = world.pool.acquire().await.unwrap();
    let lead = leader::acquire(&mut connection, WorkerId::generate(), Duration::from_secs(60)).await;
    let term = lead.unwrap().unwrap();
    while RunOperations.run_once(&world.pool, term).await.unwrap() {}
    leader::release(&mut connection, term).await.unwrap();
}

impl Line {
    async fn new(pool: &PgPool, before: StateBefore) -> Self {
        let world = World::new(pool).await;
        let (lane, worker) = (world.lane().await, world.worker().await);
        let a = accept(&world, lane).await;
        let leased = world.claim(worker, 1).await;
        if let StateBefore::Retried { wait } = before {
            world.finish(&[end(&leased[0], retried(wait))]).await;
        }
        accept(&world, lane).await;
        let operation = in_bulk(&world, BulkAction::Cancel, a).await;
        if before == StateBefore::Processing {
            world.finish(&[end(&leased[0], Ending::Cancelled { why: "cancelled" })]).await;
        }
        let b = world.claim(worker, 10).await.into_iter().next().expect("B is the head now");
        undo(&world, operation).await;
        let c = accept(&world, lane).await;
        let job = world.get(a).await.job;
        assert!(matches!(job.status, JobStatus::ToBeRetried | JobStatus::Retrying), "{before:?}: {job:?}");
        Self { world, worker, a, b, c }
    }

    /// Claims and completes the next jobs; none while one of the key is being processed.
    async fn next(&self) -> Vec<JobId> {
        self.world.must_be_sound().await;
        let claimed = self.world.claim(self.worker, 10).await;
        let ends: Vec<_> = claimed.iter().map(|job| end(job, sent())).collect();
        self.world.finish(&ends).await;
        claimed.into_iter().map(|job| job.id).collect()
    }

    async fn reasons(&self) -> Vec<ReasonCode> {
        let why = explain::explain(&self.world.pool, Scope::AllApps, self.a).await.unwrap();
        why.reasons.into_iter().map(|reason| reason.code).collect()
    }
}

async fn accept(world: &World, lane: IntegrationId) -> JobId {
    world.accept(&[JobSpec { serialize_key: Some("k".into()), ..world.spec(lane) }]).await[0].id
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_whose_cancel_was_undone_runs_when_its_turn_comes(pool: PgPool) {
    for before in STATES_BEFORE {
        let line = Line::new(&pool, before).await;
        assert!(line.reasons().await.contains(&ReasonCode::BehindSerializeKey));
        assert!(line.next().await.is_empty(), "{before:?}: while B is processed");
        line.world.finish(&[end(&line.b, sent())]).await;
        line.world.must_be_sound().await;
        if let StateBefore::Retried { wait: Duration::ZERO } | StateBefore::Processing = before {
            assert_eq!(line.reasons().await, [ReasonCode::NextInLine]);
        } else {
            assert_eq!(line.reasons().await, [ReasonCode::WaitingRetry]);
            assert!(line.next().await.is_empty(), "the key waits for its retry");
            line.world.let_time_pass().await;
        }
        assert_eq!((line.next().await, line.next().await), (vec![line.a], vec![line.c]), "{before:?}");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_requeued_behind_the_head_of_its_key_waits_for_it(pool: PgPool) {
    for before in STATES_BEFORE {
        for is_bulk in [false, true] {
            let line = Line::new(&pool, before).await;
            if is_bulk {
                in_bulk(&line.world, BulkAction::Requeue, line.a).await;
            } else {
                line.world.requeue(line.a).await.unwrap();
            }
            let job = line.world.get(line.a).await.job;
            assert_eq!((job.status, job.attempt), (JobStatus::Pending, 0));
            assert!(line.next().await.is_empty(), "{before:?}: while B is processed");
            line.world.finish(&[end(&line.b, sent())]).await;
            assert_eq!((line.next().await, line.next().await), (vec![line.a], vec![line.c]), "{before:?}");
        }
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn undoing_a_requeue_restores_its_place_and_its_wait(pool: PgPool) {
    let line = Line::new(&pool, StateBefore::Retried { wait: Duration::from_secs(3_600) }).await;
    let operation = in_bulk(&line.world, BulkAction::Requeue, line.a).await;
    undo(&line.world, operation).await;
    assert_eq!(line.reasons().await, [ReasonCode::WaitingRetry, ReasonCode::BehindSerializeKey]);
    line.world.finish(&[end(&line.b, sent())]).await;
    assert!(line.next().await.is_empty());
    line.world.let_time_pass().await;
    assert_eq!((line.next().await, line.next().await), (vec![line.a], vec![line.c]));
}

/// The statement that makes it the head sees only the retry wait, because the requeue is not committed yet.
#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_that_becomes_the_head_while_it_is_requeued_does_not_wait_for_its_retry(pool: PgPool) {
    let line = Line::new(&pool, StateBefore::Retried { wait: Duration::from_secs(3_600) }).await;
    let mut requeue = pool.begin().await.unwrap();
    jobs::requeue(&mut requeue, Scope::AllApps, line.a).await.unwrap();
    let ends = [end(&line.b, sent())];
    let waits = "select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')
        or not exists (select from headgate.jobs where status = 1)";
    tokio::join!(line.world.finish(&ends), async {
        until(&pool, waits).await;
        requeue.commit().await.unwrap();
    });
    assert_eq!((line.next().await, line.next().await), (vec![line.a], vec![line.c]));
}
