//! A result whose row, or serialize key, somebody else's transaction holds: it waits, and nothing else does.

use crate::support::{Script, World, config, ok, start, until};
use async_trait::async_trait;
use model::{id::JobId, job::JobStatus};
use queue::{
    EngineConfig,
    store::jobs::{self, JobSpec},
    worker::{AttemptHandler, CompletedJob, EngineHandle, EngineReport, LeasedJob, Outcome},
};
use sqlx::{PgConnection, PgPool, Postgres, Transaction};
use std::{sync::Arc, time::Duration};
use tokio::sync::Semaphore;

const OTHERS: usize = 50;

/// An engine that runs one special job and fifty others, and ends none of them before it is told.
struct Running {
    engine: EngineHandle,
    go_on: Arc<Semaphore>,
    special: JobId,
}

impl Running {
    async fn start(world: &World, special: JobSpec, config: EngineConfig) -> Self {
        let others = vec![world.spec(special.integration_id); OTHERS];
        let special = world.accept(&[special]).await[0].id;
        world.accept(&others).await;
        let (begun, go_on) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let (tell, gate) = (Arc::clone(&begun), Arc::clone(&go_on));
        let handler = Script::new(move |_: &LeasedJob| {
            let (tell, gate) = (Arc::clone(&tell), Arc::clone(&gate));
            Box::pin(async move {
                tell.add_permits(1);
                let _gate = gate.acquire().await.unwrap();
                ok()
            })
        });
        let engine = start(&world.pool, EngineConfig { workers: OTHERS + 1, ..config }, handler);
        let _all = begun.acquire_many(OTHERS as u32 + 1).await.unwrap();
        Self { engine, go_on, special }
    }

    /// Their attempts are over, all at once.
    fn go_on(&self) {
        self.go_on.add_permits(10_000);
    }

    async fn until_it_says(&self, what: &str, is_so: impl Fn(&EngineReport) -> bool) {
        let watch = self.engine.watch();
        let asked = async {
            while !is_so(&watch.report()) {
                tokio::task::yield_now().await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(30), asked).await;
        assert!(waited.is_ok(), "never {what}: {:?}", watch.report());
    }
}

/// The special job's attempt is over, and a producer that takes its time holds its row or its key: it enqueued the same job again.
async fn held_up(
    pool: &PgPool,
    config: EngineConfig,
    special: impl FnOnce(JobSpec) -> JobSpec,
) -> (World, Running, Transaction<'static, Postgres>) {
    let world = World::new(pool).await;
    let lane = world.lane_with(100, None).await;
    let spec = special(world.spec(lane));
    let running = Running::start(&world, spec.clone(), config).await;
    let mut producer = pool.begin().await.unwrap();
    jobs::enqueue(&mut producer, &[spec]).await.unwrap();
    running.go_on();
    (world, running, producer)
}

fn foldable(spec: JobSpec) -> JobSpec {
    JobSpec { deduplication_id: Some("x".into()), ..spec }
}

const ALL_OTHERS: &str = "select count(*) = 50 from headgate.finished_jobs where status = 3";

async fn must_be_completed_at_the_first_attempt(world: &World, id: JobId) {
    let found = world.get(id).await;
    assert_eq!((found.job.status, found.job.attempt, found.attempts.len()), (JobStatus::Completed, 1, 1));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_producer_that_folds_into_a_running_job_and_does_not_commit_holds_up_that_result_alone(
    pool: PgPool,
) {
    let (world, running, producer) = held_up(&pool, config(), foldable).await;
    until(&pool, ALL_OTHERS).await;
    running.until_it_says("held", |report| report.locked_elsewhere == 1 && report.unrecorded == 1).await;
    assert_eq!(running.engine.running(), 0, "its slot is free");
    producer.commit().await.unwrap();
    // The change that was folded in is a job of its own.
    until(&pool, "select count(*) = 52 from headgate.finished_jobs where status = 3").await;
    running.until_it_says("recorded", |report| report.locked_elsewhere == 0 && report.unrecorded == 0).await;
    must_be_completed_at_the_first_attempt(&world, running.special).await;
    running.engine.shutdown().await;
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_producer_that_holds_a_serialize_key_holds_up_the_result_of_that_key_alone(pool: PgPool) {
    let (world, running, producer) =
        held_up(&pool, config(), |spec| JobSpec { serialize_key: Some("k".into()), ..spec }).await;
    until(&pool, ALL_OTHERS).await;
    running.until_it_says("held", |report| report.locked_elsewhere == 1).await;
    producer.commit().await.unwrap();
    until(&pool, "select count(*) = 52 from headgate.finished_jobs where status = 3").await;
    must_be_completed_at_the_first_attempt(&world, running.special).await;
    running.engine.shutdown().await;
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn however_often_a_lock_is_not_given_the_delivery_stays_completed(pool: PgPool) {
    let hasty = EngineConfig { lock_timeout: Duration::from_millis(1), ..config() };
    let (world, running, producer) = held_up(&pool, hasty, foldable).await;
    // Each lock that is not given undoes a transaction; those of a test's own world are none.
    until(&pool, "select xact_rollback > 150 from pg_stat_database where datname = current_database()").await;
    producer.rollback().await.unwrap();
    until(&pool, "select count(*) = 51 from headgate.finished_jobs where status = 3").await;
    must_be_completed_at_the_first_attempt(&world, running.special).await;
    running.engine.shutdown().await;
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_process_that_stops_waits_for_the_results_that_are_held(pool: PgPool) {
    let (world, running, producer) = held_up(&pool, config(), foldable).await;
    running.until_it_says("held", |report| report.locked_elsewhere == 1).await;
    let watch = running.engine.watch();
    let stopping = tokio::spawn(running.engine.shutdown());
    while !watch.report().is_stopping {
        tokio::task::yield_now().await;
    }
    producer.commit().await.unwrap();
    stopping.await.unwrap();
    must_be_completed_at_the_first_attempt(&world, running.special).await;
    assert_eq!(world.number("select count(*) from headgate.workers").await, 0);
    assert_eq!(world.ready().await.len(), 1, "the change that was folded in");
    world.must_be_sound().await;
}

/// Writes beside its jobs' results; for one kind of job a row that others may hold.
struct Noting;

#[async_trait]
impl AttemptHandler for Noting {
    async fn run(&self, _: &LeasedJob) -> Outcome {
        ok()
    }

    async fn on_completed(
        &self,
        connection: &mut PgConnection,
        done: &[CompletedJob],
    ) -> Result<(), sqlx::Error> {
        if done.iter().any(|job| job.job_type == "noted") {
            sqlx::query("update notes set n = n + 1").execute(connection).await?;
        }
        Ok(())
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_handler_that_waits_for_a_row_of_its_own_holds_up_its_job_alone(pool: PgPool) {
    sqlx::raw_sql("create table notes (n int not null); insert into notes values (0)")
        .execute(&pool)
        .await
        .unwrap();
    let world = World::new(&pool).await;
    let lane = world.lane_with(100, None).await;
    let mut specs = vec![world.spec(lane); OTHERS];
    let noted = JobSpec { job_type: "noted".into(), ..world.spec(lane) };
    specs.insert(OTHERS / 3, noted);
    let special = world.accept(&specs).await[OTHERS / 3].id;
    let mut stranger = pool.begin().await.unwrap();
    sqlx::query("update notes set n = 100").execute(&mut *stranger).await.unwrap();
    let hasty = EngineConfig { lock_timeout: Duration::from_millis(5), workers: OTHERS + 1, ..config() };
    let engine = start(&pool, hasty, Arc::new(Noting));
    until(&pool, ALL_OTHERS).await;
    until(&pool, "select count(*) = 1 from headgate.jobs where status = 1").await;
    stranger.commit().await.unwrap();
    until(&pool, "select count(*) = 51 from headgate.finished_jobs where status = 3").await;
    must_be_completed_at_the_first_attempt(&world, special).await;
    assert_eq!(world.number("select n::bigint from notes").await, 101, "told of once");
    engine.shutdown().await;
    world.must_be_sound().await;
}
