//! A result whose row or serialize key is locked by another transaction waits, and no other result does.

use crate::support::{Script, World, config, ok, start, until};
use async_trait::async_trait;
use model::{id::JobId, job::JobStatus};
use queue::EngineConfig;
use queue::store::jobs::{self, JobSpec};
use queue::worker::{AttemptHandler, CompletedJob, Engine, EngineReport, LeasedJob, Outcome};
use sqlx::{PgConnection, PgPool, Postgres, Transaction};
use std::{sync::Arc, time::Duration};
use tokio::sync::Semaphore;

const OTHERS: usize = 50;

/// An engine that runs one special job and fifty others, and ends none of them before `go_on`.
struct Running {
    engine: Engine,
    go_on: Arc<Semaphore>,
    special: JobId,
}

impl Running {
    async fn start(world: &World, special: JobSpec, config: EngineConfig) -> Self {
        let others = vec![world.spec(special.integration_id); OTHERS];
        let special = world.accept(&[special]).await[0].id;
        world.accept(&others).await;
        let (begun, go_on) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let (started, gate) = (Arc::clone(&begun), Arc::clone(&go_on));
        let handler = Script::new(move |_: &LeasedJob| {
            let (started, gate) = (Arc::clone(&started), Arc::clone(&gate));
            Box::pin(async move {
                started.add_permits(1);
                let _gate = gate.acquire().await.unwrap();
                ok()
            })
        });
        let engine = start(&world.pool, EngineConfig { workers: OTHERS + 1, ..config }, handler);
        let _all = begun.acquire_many(OTHERS as u32 + 1).await.unwrap();
        Self { engine, go_on, special }
    }

    /// Ends all attempts at once.
    fn go_on(&self) {
        self.go_on.add_permits(10_000);
    }

    async fn until_report(&self, what: &str, is_so: impl Fn(&EngineReport) -> bool) {
        let watch = self.engine.watch();
        let polling = async {
            while !is_so(&watch.report()) {
                tokio::task::yield_now().await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(60), polling).await;
        assert!(waited.is_ok(), "never {what}: {:?}", watch.report());
    }
}

/// The special job's attempt has ended, but its row or its key is locked by a producer that enqueued the same job again and does not commit.
async fn with_locked_result(
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
async fn an_uncommitted_fold_into_a_running_job_delays_that_result_only(pool: PgPool) {
    let (world, running, producer) = with_locked_result(&pool, config(), foldable).await;
    until(&pool, ALL_OTHERS).await;
    running
        .until_report("locked elsewhere", |report| report.locked_elsewhere == 1 && report.unrecorded == 1)
        .await;
    assert_eq!(running.engine.watch().report().running, 0, "its slot is free");
    producer.commit().await.unwrap();
    // The change became a job of its own.
    until(&pool, "select count(*) = 52 from headgate.finished_jobs where status = 3").await;
    running.until_report("recorded", |report| report.locked_elsewhere == 0 && report.unrecorded == 0).await;
    must_be_completed_at_the_first_attempt(&world, running.special).await;
    running.engine.shutdown().await;
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_uncommitted_job_of_a_serialize_key_delays_the_result_of_that_key_only(pool: PgPool) {
    let (world, running, producer) =
        with_locked_result(&pool, config(), |spec| JobSpec { serialize_key: Some("k".into()), ..spec }).await;
    until(&pool, ALL_OTHERS).await;
    running.until_report("locked elsewhere", |report| report.locked_elsewhere == 1).await;
    producer.commit().await.unwrap();
    until(&pool, "select count(*) = 52 from headgate.finished_jobs where status = 3").await;
    must_be_completed_at_the_first_attempt(&world, running.special).await;
    running.engine.shutdown().await;
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_delivery_stays_completed_however_often_the_lock_times_out(pool: PgPool) {
    let short_lock_timeout = EngineConfig { lock_timeout: Duration::from_millis(1), ..config() };
    let (world, running, producer) = with_locked_result(&pool, short_lock_timeout, foldable).await;
    // Each lock timeout rolls a transaction back, and nothing else in this test does.
    until(&pool, "select xact_rollback > 150 from pg_stat_database where datname = current_database()").await;
    producer.rollback().await.unwrap();
    until(&pool, "select count(*) = 51 from headgate.finished_jobs where status = 3").await;
    must_be_completed_at_the_first_attempt(&world, running.special).await;
    running.engine.shutdown().await;
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_process_that_shuts_down_waits_for_locked_results(pool: PgPool) {
    let (world, running, producer) = with_locked_result(&pool, config(), foldable).await;
    running.until_report("locked elsewhere", |report| report.locked_elsewhere == 1).await;
    let watch = running.engine.watch();
    let stopping = tokio::spawn(running.engine.shutdown());
    while !watch.report().is_stopping {
        tokio::task::yield_now().await;
    }
    producer.commit().await.unwrap();
    stopping.await.unwrap();
    must_be_completed_at_the_first_attempt(&world, running.special).await;
    assert_eq!(world.number("select count(*) from headgate.workers").await, 0);
    assert_eq!(world.ready().await.len(), 1, "the change became a job of its own");
    world.must_be_sound().await;
}

/// Writes in the transaction of its jobs' results; for jobs of type "noted" to a row that others may lock.
struct RowWriter;

#[async_trait]
impl AttemptHandler for RowWriter {
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
async fn a_handler_that_waits_for_a_row_delays_its_own_job_only(pool: PgPool) {
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
    let mut lock_holder = pool.begin().await.unwrap();
    sqlx::query("update notes set n = 100").execute(&mut *lock_holder).await.unwrap();
    let short_lock_timeout =
        EngineConfig { lock_timeout: Duration::from_millis(5), workers: OTHERS + 1, ..config() };
    let engine = start(&pool, short_lock_timeout, Arc::new(RowWriter));
    until(&pool, ALL_OTHERS).await;
    until(&pool, "select count(*) = 1 from headgate.jobs where status = 1").await;
    lock_holder.commit().await.unwrap();
    until(&pool, "select count(*) = 51 from headgate.finished_jobs where status = 3").await;
    must_be_completed_at_the_first_attempt(&world, special).await;
    assert_eq!(world.number("select n::bigint from notes").await, 101, "written once");
    engine.shutdown().await;
    world.must_be_sound().await;
}
