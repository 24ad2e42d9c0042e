//! How jobs run and end in an engine.

use crate::support::{Script, World, config, failed, ok, start, until, until_recorded};
use async_trait::async_trait;
use model::attempt::AttemptOutcome;
use model::job::JobStatus;
use model::rules::verdict::{ErrorKind, Verdict};
use model::trace::TraceContext;
use queue::store::jobs::{Completion, JobSpec};
use queue::worker::{AttemptHandler, CompletedJob, LeasedJob, Outcome};
use queue::{EngineConfig, Waker};
use sqlx::{PgConnection, PgPool, postgres::PgPoolOptions};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn typed(world: &World, lane: model::id::IntegrationId, job_type: &str) -> JobSpec {
    JobSpec { job_type: job_type.into(), max_attempts: 3, ..world.spec(lane) }
}

/// Captures the log.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn log_lines_of_an_attempt_have_its_correlation_id_and_trace(pool: PgPool) {
    let log = Log::default();
    let writer = log.clone();
    let lines = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let _guard = tracing::subscriber::set_default(lines);
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let trace = Some(TraceContext { trace_id: 0xab, parent_id: 1, is_sampled: true });
    world.accept(&[JobSpec { correlation_id: "order-7".into(), trace, ..world.spec(lane) }]).await;
    let handler = Script::new(|_: &LeasedJob| {
        Box::pin(async {
            tracing::info!("the handler says something");
            ok()
        })
    });
    let engine = start(&pool, config(), handler);
    until_recorded(&engine, 1).await;
    engine.shutdown().await;
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let line = log.lines().find(|line| line.contains("the handler says something")).unwrap();
    assert!(line.contains(r#"correlation_id="order-7""#), "{line}");
    assert!(line.contains("trace_id=000000000000000000000000000000ab"), "{line}");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn every_outcome_of_a_handler_is_recorded(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let types = ["good", "bad once", "always bad", "wrong", "panics", "slow"];
    let mut specs: Vec<JobSpec> = types.iter().map(|kind| typed(&world, lane, kind)).collect();
    specs[5].timeout_ms = Some(100);
    specs[5].max_attempts = 1;
    let past = chrono::Utc::now() - chrono::Duration::hours(1);
    specs.push(JobSpec { expires_at: Some(past), ..typed(&world, lane, "expired") });
    let ids: Vec<_> = world.accept(&specs).await.into_iter().map(|job| job.id).collect();
    let retry = Verdict::Retry { kind: ErrorKind::Retryable, at_least: None, quiets_integration: false };
    let handler = Script::new(move |job: &LeasedJob| {
        Box::pin(async move {
            match (job.job_type.as_str(), job.attempt) {
                ("bad once", 1) | ("always bad", _) => failed(retry),
                ("wrong", _) => failed(Verdict::GiveUp { pauses_integration: false }),
                ("panics", _) => panic!("out of {}", "paper"),
                ("slow", _) => std::future::pending().await,
                ("expired", _) => unreachable!("it is cancelled"),
                _ => ok(),
            }
        })
    });
    let engine = start(&pool, config(), handler);
    until_recorded(&engine, 1 + 2 + 3 + 1 + 3 + 1 + 1).await;
    engine.shutdown().await;

    use JobStatus::{Cancelled, Completed, Failed};
    for (id, (status, attempts, kind, outcome)) in ids.iter().zip([
        (Completed, 1, None, Some("done")),
        (Completed, 2, None, Some("done")),
        (Failed, 3, Some(ErrorKind::RetriesExceeded), None),
        (Failed, 1, Some(ErrorKind::NotRetryable), None),
        (Failed, 3, Some(ErrorKind::RetriesExceeded), None),
        (Failed, 1, Some(ErrorKind::RetriesExceeded), None),
        (Cancelled, 0, Some(ErrorKind::Expired), Some("expired")),
    ]) {
        let found = world.get(*id).await;
        let job = &found.job;
        assert_eq!(
            (job.status, job.error_kind, job.outcome.as_deref()),
            (status, kind, outcome),
            "{}",
            job.job_type
        );
        assert_eq!(found.attempts.len(), attempts, "{}", job.job_type);
    }
    let panicked = world.get(ids[4]).await;
    assert_eq!(panicked.job.error_message.as_deref(), Some("The handler panicked: out of paper"));
    let slow = &world.get(ids[5]).await.attempts[0];
    assert_eq!((slow.outcome, slow.error_kind), (AttemptOutcome::TimedOut, Some(ErrorKind::Timeout)));
    world.must_be_sound().await;
    for table in ["workers", "claim_batches"] {
        let sql = format!("select count(*) from headgate.{table}");
        let rows: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_one(&pool).await.unwrap();
        assert_eq!(rows, 0, "{table}");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_wake_up_needs_no_poll(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let hour = Duration::from_secs(3600);
    let engine = start(
        &pool,
        EngineConfig { poll_interval: hour, ..config() },
        Script::new(|_| Box::pin(async { ok() })),
    );
    until(&pool, "select count(*) > 0 from pg_stat_activity where datname = current_database() and query like 'LISTEN%'")
        .await;
    let waker = Waker::new(pool.clone());
    for round in 1..=3 {
        world.accept_plain(lane, 10).await;
        waker.wake();
        until_recorded(&engine, round * 10).await;
    }
    // A scheduled job needs no wake-up.
    let soon = chrono::Utc::now() + chrono::Duration::milliseconds(300);
    world.accept(&[JobSpec { run_at: Some(soon), ..world.spec(lane) }]).await;
    waker.wake();
    until_recorded(&engine, 31).await;
    engine.shutdown().await;
}

/// Records what it got in the finishing transaction, and fails there for the job type "poison".
#[derive(Default)]
struct Recorder {
    shown: Mutex<Vec<String>>,
}

#[async_trait]
impl AttemptHandler for Recorder {
    async fn run(&self, job: &LeasedJob) -> Outcome {
        let receipt: Option<Box<dyn std::any::Any + Send + Sync>> = Some(Box::new(job.job_type.clone()));
        Outcome::Completed { how: Completion::Sent, response: None, result: None, receipt }
    }

    async fn on_completed(
        &self,
        connection: &mut PgConnection,
        done: &[CompletedJob],
    ) -> Result<(), sqlx::Error> {
        for job in done {
            assert_eq!(job.receipt.as_ref().unwrap().downcast_ref::<String>(), Some(&job.job_type));
            let sql = if job.job_type == "poison" { "select 1 / 0" } else { "select 1" };
            sqlx::query(sql).execute(&mut *connection).await?;
        }
        self.shown.lock().unwrap().extend(done.iter().map(|job| job.job_type.clone()));
        Ok(())
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_result_that_cannot_be_stored_fails_no_other(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let recorder = Arc::new(Recorder::default());
    let kinds = ["good", "poison", "good", "good"];
    let specs: Vec<_> =
        kinds.iter().map(|kind| JobSpec { max_attempts: 1, ..typed(&world, lane, kind) }).collect();
    let ids: Vec<_> = world.accept(&specs).await.into_iter().map(|job| job.id).collect();
    let engine = start(&pool, config(), recorder.clone());
    until_recorded(&engine, 4).await;
    engine.shutdown().await;
    for (id, kind) in ids.iter().zip(kinds) {
        let job = world.get(*id).await.job;
        let expected = if kind == "good" { JobStatus::Completed } else { JobStatus::Failed };
        assert_eq!(job.status, expected);
    }
    assert_eq!(world.get(ids[1]).await.job.error_message.as_deref(), Some("The result could not be stored."));
    assert!(recorder.shown.lock().unwrap().iter().all(|kind| kind == "good"));
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn two_engines_share_the_work_and_run_nothing_twice(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane_with(1_000, None).await;
    let ids = world.accept_plain(lane, 500).await;
    let ran = Arc::new(Mutex::new(Vec::new()));
    let handler = || {
        let ran = Arc::clone(&ran);
        Script::new(move |job: &LeasedJob| {
            ran.lock().unwrap().push(job.id);
            Box::pin(async { ok() })
        })
    };
    let engines = [start(&pool, config(), handler()), start(&pool, config(), handler())];
    until(&pool, "select count(*) = 500 from headgate.finished_jobs").await;
    for engine in engines {
        engine.shutdown().await;
    }
    let mut ran = ran.lock().unwrap().clone();
    ran.sort();
    assert_eq!(ran, ids);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn waiting_off_the_clock_does_not_count_towards_the_timeout(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let brief = |kind| JobSpec { timeout_ms: Some(100), max_attempts: 1, ..typed(&world, lane, kind) };
    world.accept(&[brief("waits"), brief("works")]).await;
    let is_over = Arc::new(tokio::sync::Notify::new());
    let signal = Arc::clone(&is_over);
    let handler = Script::new(move |job: &LeasedJob| {
        let signal = Arc::clone(&signal);
        Box::pin(async move {
            if job.job_type == "works" {
                std::future::pending::<()>().await;
            }
            job.off_the_clock(signal.notified()).await;
            ok()
        })
    });
    let engine = start(&pool, config(), handler);
    until(
        &pool,
        "select error_kind = 'retries_exceeded' from headgate.dead_letter_jobs where job_type = 'works'",
    )
    .await;
    is_over.notify_one();
    until_recorded(&engine, 2).await;
    engine.shutdown().await;
    assert_eq!(world.number("select count(*) from headgate.finished_jobs where job_type = 'waits'").await, 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn jobs_claimed_together_know_their_number_and_share_a_value(pool: PgPool) {
    let world = World::new(&pool).await;
    let (many, one) = (world.lane().await, world.lane().await);
    let past = chrono::Utc::now() - chrono::Duration::hours(1);
    let expired = JobSpec { expires_at: Some(past), ..world.spec(many) };
    world.accept(&[world.spec(many), expired, world.spec(many), world.spec(one)]).await;
    let seen: Arc<Mutex<Vec<(model::id::IntegrationId, usize, usize)>>> = Arc::default();
    let shown = Arc::clone(&seen);
    let handler = Script::new(move |job: &LeasedJob| {
        let shared = job.share_with_peers(|count| (count, Mutex::new(0))).unwrap();
        let mut order = shared.1.lock().unwrap();
        *order += 1;
        shown.lock().unwrap().push((job.integration_id, shared.0, *order));
        Box::pin(async { ok() })
    });
    let engine = start(&pool, config(), handler);
    until_recorded(&engine, 4).await;
    engine.shutdown().await;
    let mut expected = vec![(many, 2, 1), (many, 2, 2), (one, 1, 1)];
    let mut seen = seen.lock().unwrap().clone();
    expected.sort();
    seen.sort();
    assert_eq!(seen, expected);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_waker_of_the_same_process_needs_no_notification(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    // No poll happens during the test, and no notification can be sent.
    let config = EngineConfig { poll_interval: Duration::from_secs(3600), ..config() };
    let engine = start(&pool, config, Script::new(|_: &LeasedJob| Box::pin(async { ok() })));
    let closed = PgPoolOptions::new().connect_lazy_with((*pool.connect_options()).clone());
    closed.close().await;
    let waker = Waker::new(closed);
    waker.wake_directly(&engine);
    // Repeatedly, because the engine may happen to check by itself.
    for done in 1..=20 {
        world.accept(&[world.spec(lane)]).await;
        waker.wake();
        until_recorded(&engine, done).await;
    }
    engine.shutdown().await;
}

/// No poll happens during the test: whatever makes jobs claimable must wake the engine.
fn without_polls() -> EngineConfig {
    EngineConfig { poll_interval: Duration::from_secs(3_600), ..config() }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_retry_due_before_the_next_poll_begins_when_it_is_due(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let handler = Script::new(|job: &LeasedJob| {
        Box::pin(async move {
            let at_least = Some(Duration::from_millis(300));
            let retry = Verdict::Retry { kind: ErrorKind::Retryable, at_least, quiets_integration: false };
            if job.attempt == 1 { failed(retry) } else { ok() }
        })
    });
    let engine = start(&pool, without_polls(), handler);
    world.accept(&[typed(&world, lane, "a")]).await;
    engine.wake();
    until_recorded(&engine, 2).await;
    engine.shutdown().await;
}

/// Enqueues the next link of a chain in the transaction that completes the previous one.
struct Chain(World, model::id::IntegrationId);

#[async_trait]
impl AttemptHandler for Chain {
    async fn run(&self, _: &LeasedJob) -> Outcome {
        ok()
    }

    async fn on_completed(
        &self,
        connection: &mut PgConnection,
        done: &[CompletedJob],
    ) -> Result<(), sqlx::Error> {
        for link in done.iter().filter(|link| link.job_type.len() < 4) {
            let next = typed(&self.0, self.1, &format!("{}a", link.job_type));
            queue::store::jobs::enqueue(connection, &[next]).await.unwrap();
        }
        Ok(())
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn jobs_enqueued_in_on_completed_begin_without_a_poll(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    world.accept(&[typed(&world, lane, "a")]).await;
    let engine = start(&pool, without_polls(), Arc::new(Chain(World::new(&pool).await, lane)));
    until_recorded(&engine, 4).await;
    engine.shutdown().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn jobs_waiting_for_their_lane_or_key_begin_without_a_poll(pool: PgPool) {
    let world = World::new(&pool).await;
    let narrow = world.lane_with(1, None).await;
    let wide = world.lane().await;
    let keyed = |n: usize| JobSpec {
        serialize_key: n.is_multiple_of(2).then(|| "k".to_owned()),
        ..typed(&world, wide, "a")
    };
    let specs: Vec<JobSpec> =
        (0..10).map(|n| if n < 5 { typed(&world, narrow, "a") } else { keyed(n) }).collect();
    world.accept(&specs).await;
    let engine = start(&pool, without_polls(), Script::new(|_: &LeasedJob| Box::pin(async { ok() })));
    until_recorded(&engine, 10).await;
    engine.shutdown().await;
}
