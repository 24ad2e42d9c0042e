//! Processes shut down cleanly at each stage of an attempt.

use crate::support::{Children, Database, Excused, Judge, Plan, Shape, eventually, rounds, seeded};
use async_trait::async_trait;
use model::{id::JobId, job::JobStatus};
use queue::EngineConfig;
use queue::store::jobs::Completion;
use queue::worker::{AttemptHandler, Engine, Handlers, LeasedJob, Outcome};
use rand::Rng as _;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn processes_that_shut_down_at_any_moment_lose_nothing_and_repeat_nothing() {
    for seed in rounds() {
        let mut random = seeded("stopped processes", seed);
        let database = Database::create().await;
        let world = database.world().await;
        let shape = Shape::new(&world).await;
        let mut plan = Plan::new(&mut random, &world, &shape, 1_500);
        let left = plan.left();
        plan.accept(&mut random, &world, left).await;
        let mut children = Children::of(&database);
        let mut seen = 0;
        for _ in 0..5 {
            children.start(2);
            seen += random.random_range(20..250);
            database.until_at_least("select count(*) from attempts_seen", seen).await;
            children.stop().await;
            let processing = database.number("select count(*) from headgate.jobs where status = 1").await;
            assert_eq!(processing, 0, "each is released or recorded");
        }
        children.start(2);
        database.until_all_is_final().await;
        children.stop().await;
        Judge { database: &database, world: &world, shape: &shape, excused: Excused::Nobody }.judge().await;
        database.drop().await;
    }
}

#[derive(Default)]
struct Quick {
    begun: Notify,
}

#[async_trait]
impl AttemptHandler for Quick {
    async fn run(&self, _job: &LeasedJob) -> Outcome {
        self.begun.notify_one();
        Outcome::Completed { how: Completion::Done, response: None, result: None, receipt: None }
    }
}

/// A shutdown grace that no test waits for.
const LONG: Duration = Duration::from_secs(300);

fn start(database: &Database, handler: Arc<dyn AttemptHandler>, shutdown_grace: Duration) -> Engine {
    let config = EngineConfig {
        heartbeat_interval: Duration::from_secs(1),
        shutdown_grace,
        ..EngineConfig::default()
    };
    Engine::start(database.pool.clone(), config, Handlers::new(handler), CancellationToken::new())
}

async fn waits_for_a_lock(database: &Database) {
    eventually("the engine waits for the lock", || async {
        const WAITS: &str = "select count(*) from pg_locks l join pg_stat_activity a using (pid)
            where not l.granted and a.datname = current_database()";
        database.number(WAITS).await > 0
    })
    .await;
}

#[tokio::test]
async fn jobs_claimed_during_shutdown_are_released_unstarted() {
    let database = Database::create().await;
    let world = database.world().await;
    let lane = world.lane().await;
    let mut turn = database.pool.begin().await.unwrap();
    sqlx::query("select pg_advisory_xact_lock(4711, 1)").execute(&mut *turn).await.unwrap();
    let ids = world.accept_plain(lane, 5).await;
    let handler = Arc::new(Quick::default());
    let begun = Arc::clone(&handler);
    let engine = start(&database, handler, LONG);
    waits_for_a_lock(&database).await;
    let stopping = tokio::spawn(engine.shutdown());
    // The stop should be seen before the claim's answer. Where it is not, the jobs are done, and the test below fails.
    tokio::task::yield_now().await;
    turn.commit().await.unwrap();
    stopping.await.unwrap();
    assert_eq!(database.number("select count(*) from headgate.claim_batches").await, 0);
    for id in ids {
        let job = world.get(id).await.job;
        assert_eq!((job.status, job.attempt), (JobStatus::Pending, 0), "not begun, not counted");
    }
    let handled = tokio::time::timeout(Duration::ZERO, begun.begun.notified()).await;
    assert!(handled.is_err(), "no handler was called");
    world.must_be_sound().await;
    database.drop().await;
}

#[tokio::test]
async fn unrecorded_results_are_recorded_before_the_engine_ends() {
    let database = Database::create().await;
    let world = database.world().await;
    let lane = world.lane().await;
    let id = world.accept_plain(lane, 1).await[0];
    let mut lock = database.pool.begin().await.unwrap();
    let handler = Arc::new(Gated::default());
    let engine = start(&database, Arc::clone(&handler) as Arc<dyn AttemptHandler>, LONG);
    handler.begun.notified().await;
    // The result cannot be written while this row is locked.
    sqlx::query("select 1 from headgate.jobs where id = $1 for update")
        .bind(id)
        .execute(&mut *lock)
        .await
        .unwrap();
    handler.go_on.notify_one();
    waits_for_a_lock(&database).await;
    let mut stopping = tokio::spawn(engine.shutdown());
    let early = tokio::time::timeout(Duration::from_millis(300), &mut stopping).await;
    assert!(early.is_err(), "it does not end before the result is recorded");
    let workers = database.number("select count(*) from headgate.workers").await;
    assert_eq!(workers, 1, "heartbeats go on meanwhile");
    lock.commit().await.unwrap();
    stopping.await.unwrap();
    assert_eq!(world.get(id).await.job.status, JobStatus::Completed);
    assert_eq!(database.number("select count(*) from headgate.workers").await, 0);
    world.must_be_sound().await;
    database.drop().await;
}

/// Signals that it has begun, and completes when it is notified.
#[derive(Default)]
struct Gated {
    begun: Notify,
    go_on: Notify,
}

#[async_trait]
impl AttemptHandler for Gated {
    async fn run(&self, _job: &LeasedJob) -> Outcome {
        self.begun.notify_one();
        self.go_on.notified().await;
        Outcome::Completed { how: Completion::Done, response: None, result: None, receipt: None }
    }
}

/// Blocks its thread until the test sends a message.
struct Blocker {
    begun: Arc<Notify>,
    go_on: Mutex<mpsc::Receiver<()>>,
}

#[async_trait]
impl AttemptHandler for Blocker {
    async fn run(&self, _job: &LeasedJob) -> Outcome {
        self.begun.notify_one();
        let _ = self.go_on.lock().unwrap().recv();
        Outcome::Completed { how: Completion::Done, response: None, result: None, receipt: None }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_handler_that_blocks_its_thread_does_not_delay_shutdown_and_its_job_is_recovered() {
    let database = Database::create().await;
    let world = database.world().await;
    let lane = world.lane().await;
    let id: JobId = world.accept_plain(lane, 1).await[0];
    let (unblock, go_on) = mpsc::channel();
    let begun = Arc::new(Notify::new());
    let blocker = Arc::new(Blocker { begun: Arc::clone(&begun), go_on: Mutex::new(go_on) });
    let engine = start(&database, blocker, Duration::ZERO);
    begun.notified().await;
    engine.shutdown().await;
    assert_eq!(
        world.get(id).await.job.status,
        JobStatus::Processing,
        "it still runs: no other worker may begin it yet"
    );
    assert_eq!(world.recover().await.returned, 1, "its process has signed off");
    unblock.send(()).unwrap();
    let job = world.get(id).await;
    assert_eq!((job.job.status, job.job.attempt, job.attempts.len()), (JobStatus::Pending, 0, 1));
    world.must_be_sound().await;
    database.drop().await;
}
