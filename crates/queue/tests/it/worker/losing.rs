//! A process loses its lease or its connections.

use crate::support::{Script, World, config, ok, start, until, until_recorded};
use async_trait::async_trait;
use model::job::JobStatus;
use queue::EngineConfig;
use queue::store::jobs::{JobSpec, recover_lost_leases};
use queue::worker::{AttemptHandler, CompletedJob, LeasedJob, Outcome};
use sqlx::{PgConnection, PgPool};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

/// Notifies when it is dropped.
struct NotifyOnDrop(Arc<Notify>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

/// Observes a handler that hangs.
struct Hanging {
    begun: Arc<Notify>,
    dropped: Arc<Notify>,
    runs: Arc<AtomicUsize>,
}

/// A handler that never returns the first time, and completes the second time.
fn hangs_once() -> (Arc<dyn AttemptHandler>, Hanging) {
    let (begun, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let runs = Arc::new(AtomicUsize::new(0));
    let (started, on_drop, count) = (Arc::clone(&begun), Arc::clone(&dropped), Arc::clone(&runs));
    let handler = Script::new(move |_: &LeasedJob| {
        let (started, on_drop) = (Arc::clone(&started), Arc::clone(&on_drop));
        let is_first = count.fetch_add(1, Ordering::SeqCst) == 0;
        Box::pin(async move {
            if is_first {
                let _watch = NotifyOnDrop(on_drop);
                started.notify_one();
                std::future::pending::<()>().await;
            }
            ok()
        })
    });
    (handler, Hanging { begun, dropped, runs })
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_process_that_lost_its_lease_stops_its_jobs_and_registers_again(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let id = world.accept_plain(lane, 1).await[0];
    let (handler, Hanging { begun, dropped, .. }) = hangs_once();
    let engine =
        start(&pool, EngineConfig { heartbeat_interval: Duration::from_millis(200), ..config() }, handler);
    begun.notified().await;
    let first = engine.worker_id();
    sqlx::query("delete from headgate.workers").execute(&pool).await.unwrap();
    let mut transaction = pool.begin().await.unwrap();
    assert_eq!(recover_lost_leases(&mut transaction, 10).await.unwrap().returned, 1);
    transaction.commit().await.unwrap();
    dropped.notified().await;
    until(&pool, "select count(*) = 1 from headgate.finished_jobs").await;
    assert_ne!(engine.worker_id(), first, "it is a new worker for lease recovery");
    let starts = world.number("select count(*) from headgate.system_events where kind = 'start'").await;
    assert_eq!(starts, 1, "the process did not start again");
    engine.shutdown().await;
    let found = world.get(id).await;
    assert_eq!((found.job.status, found.attempts.len()), (JobStatus::Completed, 2));
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn two_failed_heartbeats_stop_the_jobs_before_another_worker_may_take_them(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let id = world.accept_plain(lane, 1).await[0];
    let (handler, Hanging { begun, dropped, runs }) = hangs_once();
    let config = EngineConfig { heartbeat_interval: Duration::from_secs(2), ..config() };
    let engine = start(&pool, config, handler);
    begun.notified().await;
    let first = engine.worker_id();
    // The database answers everything but heartbeats.
    let mut heartbeat_lock = pool.begin().await.unwrap();
    sqlx::query("lock table headgate.workers in share mode").execute(&mut *heartbeat_lock).await.unwrap();
    tokio::time::timeout(Duration::from_secs(60), dropped.notified()).await.expect("the handler is stopped");
    let leased: i64 =
        sqlx::query_scalar("select count(*) from headgate.workers where lease_until > clock_timestamp()")
            .fetch_one(&mut *heartbeat_lock)
            .await
            .unwrap();
    assert_eq!(leased, 1, "the handler is stopped while the lease is still valid");
    heartbeat_lock.rollback().await.unwrap();

    until(&pool, "select exists (select 1 from headgate.workers where lease_until < clock_timestamp())")
        .await;
    assert_eq!(world.recover().await.returned, 1);
    engine.wake();
    until(&pool, "select count(*) = 1 from headgate.finished_jobs").await;
    assert_ne!(engine.worker_id(), first);
    engine.shutdown().await;
    assert_eq!((world.get(id).await.attempts.len(), runs.load(Ordering::SeqCst)), (2, 2));
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn nothing_is_lost_when_connections_break_repeatedly(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane_with(1_000, None).await;
    world.accept_plain(lane, 300).await;
    let engine = start(
        &pool,
        config(),
        Script::new(|_| {
            Box::pin(async {
                tokio::task::yield_now().await;
                ok()
            })
        }),
    );
    let mut killer = sqlx::postgres::PgPoolOptions::new()
        .max_connections(1)
        .connect_with((*pool.connect_options()).clone())
        .await
        .unwrap()
        .acquire()
        .await
        .unwrap()
        .detach();
    for round in 0..6_i64 {
        // While jobs are running.
        let enough: i64 = round * 30;
        while sqlx::query_scalar::<_, i64>("select count(*) from headgate.finished_jobs")
            .fetch_one(&mut killer)
            .await
            .unwrap()
            < enough
        {
            tokio::task::yield_now().await;
        }
        sqlx::query(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
        )
        .execute(&mut killer)
        .await
        .unwrap();
    }
    until(&pool, "select count(*) = 300 from headgate.finished_jobs").await;
    engine.shutdown().await;
    world.must_be_sound().await;
    assert_eq!(world.number("select count(*) from headgate.jobs").await, 0);
}

/// Leaves this connection idle until the database has closed it.
async fn stay_idle(pool: &PgPool, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let backend: i32 = sqlx::query_scalar("select pg_backend_pid()").fetch_one(connection).await?;
    let is_gone = || {
        sqlx::query_scalar("select not exists (select 1 from pg_stat_activity where pid = $1)")
            .bind(backend)
            .fetch_one(pool)
    };
    while !is_gone().await? {
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// Stays idle in the first transaction that records its job, like a process that is stopped there.
struct IdleOnce {
    pool: PgPool,
    calls: AtomicUsize,
}

#[async_trait]
impl AttemptHandler for IdleOnce {
    async fn run(&self, _: &LeasedJob) -> Outcome {
        ok()
    }

    async fn on_completed(
        &self,
        connection: &mut PgConnection,
        _: &[CompletedJob],
    ) -> Result<(), sqlx::Error> {
        if self.calls.fetch_add(1, Ordering::SeqCst) > 0 {
            return Ok(());
        }
        let idle_timeout: String =
            sqlx::query_scalar("select current_setting('idle_in_transaction_session_timeout')")
                .fetch_one(&mut *connection)
                .await?;
        assert_eq!(idle_timeout, "5s", "others wait no longer for the job's row");
        sqlx::query("set local idle_in_transaction_session_timeout = '1ms'")
            .execute(&mut *connection)
            .await?;
        stay_idle(&self.pool, connection).await?;
        sqlx::query("select 1").execute(connection).await.map(|_| ())
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_process_stopped_while_it_records_a_result_records_it_again_and_repeats_no_job(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let id = world.accept_plain(lane, 1).await[0];
    let handler = Arc::new(IdleOnce { pool: pool.clone(), calls: AtomicUsize::new(0) });
    let engine = start(&pool, config(), Arc::clone(&handler) as Arc<dyn AttemptHandler>);
    until(&pool, "select count(*) = 1 from headgate.finished_jobs").await;
    engine.shutdown().await;
    let found = world.get(id).await;
    assert_eq!((found.job.status, found.attempts.len()), (JobStatus::Completed, 1));
    assert_eq!(handler.calls.load(Ordering::SeqCst), 2);
    world.must_be_sound().await;
}

/// Stays idle in every transaction that records a job of type "silent" or "careless".
struct AlwaysIdle {
    pool: PgPool,
    calls: Mutex<Vec<Vec<String>>>,
}

#[async_trait]
impl AttemptHandler for AlwaysIdle {
    async fn run(&self, _: &LeasedJob) -> Outcome {
        ok()
    }

    async fn on_completed(
        &self,
        connection: &mut PgConnection,
        done: &[CompletedJob],
    ) -> Result<(), sqlx::Error> {
        let kinds: Vec<String> = done.iter().map(|job| job.job_type.clone()).collect();
        let is_any = |wanted: &str| kinds.iter().any(|kind| kind == wanted);
        let (is_silent, is_careless) = (is_any("silent"), is_any("careless"));
        self.calls.lock().unwrap().push(kinds);
        if !(is_silent || is_careless) {
            return Ok(());
        }
        stay_idle(&self.pool, connection).await?;
        // A handler that uses the connection no more gets the error from the commit.
        if is_careless { Ok(()) } else { sqlx::query("select 1").execute(connection).await.map(|_| ()) }
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_handler_that_always_idles_in_the_transaction_fails_its_attempt_and_no_other(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let of = |kind: &str| JobSpec { job_type: kind.into(), max_attempts: 1, ..world.spec(lane) };
    let specs = ["good", "silent", "good", "careless", "good"].map(of);
    let ids: Vec<_> = world.accept(&specs).await.into_iter().map(|job| job.id).collect();
    let handler = Arc::new(AlwaysIdle { pool: pool.clone(), calls: Mutex::default() });
    let short_timeout = EngineConfig { idle_in_transaction_timeout: Duration::from_millis(300), ..config() };
    let engine = start(&pool, short_timeout, Arc::clone(&handler) as Arc<dyn AttemptHandler>);
    until_recorded(&engine, 5).await;
    engine.shutdown().await;
    for (id, spec) in ids.iter().zip(&specs) {
        let found = world.get(*id).await;
        if spec.job_type == "good" {
            assert_eq!((found.job.status, found.attempts.len()), (JobStatus::Completed, 1));
            continue;
        }
        assert_eq!(found.job.status, JobStatus::Failed);
        let message = found.job.error_message.unwrap();
        assert!(
            message
                .contains("5 times the handler let the transaction that records it idle for more than 300ms"),
            "{message}"
        );
        let alone = vec![spec.job_type.clone()];
        let calls = handler.calls.lock().unwrap().iter().filter(|kinds| **kinds == alone).count();
        assert_eq!(calls, 5, "{alone:?}");
    }
    world.must_be_sound().await;
}
