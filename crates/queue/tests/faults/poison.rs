//! Whatever a handler returns or fails to return, its job ends, and no other job suffers.

use crate::support::{Database, World};
use async_trait::async_trait;
use model::id::JobId;
use model::job::JobStatus;
use model::rules::verdict::{ErrorKind, Verdict};
use queue::EngineConfig;
use queue::store::jobs::{self, Completion, Failure, JobSpec, Response};
use queue::worker::{AttemptHandler, Engine, Handlers, LeasedJob, Outcome};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Text that no column takes as it is, and that is far too long.
fn hostile_text() -> String {
    let invalid = String::from_utf8_lossy(b"\xff\xfe\xc3(\x00 ").into_owned();
    format!("{invalid}\u{0}\u{202e}\u{feff}{}", "\u{1f480}\u{0}".repeat(200_000))
}

fn failed(verdict: Verdict) -> Outcome {
    let response = Some(Response { status: 599, excerpt: hostile_text(), duration: Duration::MAX });
    Outcome::Failed {
        error: Failure {
            verdict,
            message: hostile_text(),
            response,
            sent_body: Some(json!({ "a": hostile_text() })),
            exchange: None,
        },
    }
}

fn completed(result: Value) -> Outcome {
    let response = Some(Response { status: 200, excerpt: hostile_text(), duration: Duration::MAX });
    Outcome::Completed { how: Completion::Sent, response, result: Some(result), receipt: None }
}

fn deep(levels: usize) -> Value {
    (0..levels).fold(json!(1), |value, _| json!([value]))
}

struct PanicsOnDrop;
impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "dropped");
    }
}

/// Does what the job's type says; "blocks" blocks its thread until the test sends a message.
struct HostileHandler {
    go_on: Mutex<mpsc::Receiver<()>>,
}

#[async_trait]
impl AttemptHandler for HostileHandler {
    async fn run(&self, job: &LeasedJob) -> Outcome {
        match job.job_type.as_str() {
            "hostile result" => completed(json!({ hostile_text(): hostile_text() })),
            "deep result" => completed(deep(500)),
            "huge result" => completed(json!("x".repeat(2_000_000))),
            "hostile failure" => failed(Verdict::Retry {
                kind: ErrorKind::Retryable,
                at_least: Some(Duration::MAX),
                quiets_integration: false,
            }),
            "hostile refusal" => failed(Verdict::GiveUp { pauses_integration: false }),
            "panics" => panic!("{}", hostile_text()),
            "panics with a number" => std::panic::panic_any(42),
            "panics when it is stopped" => {
                let _guard = PanicsOnDrop;
                std::future::pending().await
            }
            "never ends" => std::future::pending().await,
            "blocks" => {
                let _ = self.go_on.lock().unwrap().recv();
                completed(json!("too late"))
            }
            _ => completed(json!(null)),
        }
    }
}

fn spec(world: &World, lane: model::id::IntegrationId, job_type: &str) -> JobSpec {
    JobSpec { job_type: job_type.to_owned(), max_attempts: 1, timeout_ms: Some(300), ..world.spec(lane) }
}

fn start(database: &Database) -> (Engine, mpsc::Sender<()>) {
    let (unblock, go_on) = mpsc::channel();
    let handlers = Handlers::new(Arc::new(HostileHandler { go_on: Mutex::new(go_on) }));
    let config =
        EngineConfig { workers: 20, poll_interval: Duration::from_millis(200), ..EngineConfig::default() };
    (Engine::start(database.pool.clone(), config, handlers, CancellationToken::new()), unblock)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn whatever_a_handler_does_wrong_ends_its_own_job_only() {
    let database = Database::create().await;
    let world = database.world().await;
    let lane = world.lane().await;
    let expected = [
        ("hostile result", JobStatus::Completed, None),
        ("deep result", JobStatus::Completed, None),
        ("huge result", JobStatus::Completed, None),
        ("hostile failure", JobStatus::Failed, Some(ErrorKind::RetriesExceeded)),
        ("hostile refusal", JobStatus::Failed, Some(ErrorKind::NotRetryable)),
        ("panics", JobStatus::Failed, Some(ErrorKind::RetriesExceeded)),
        ("panics with a number", JobStatus::Failed, Some(ErrorKind::RetriesExceeded)),
        ("panics when it is stopped", JobStatus::Failed, Some(ErrorKind::RetriesExceeded)),
        ("never ends", JobStatus::Failed, Some(ErrorKind::RetriesExceeded)),
        ("plain", JobStatus::Completed, None),
    ];
    let specs: Vec<JobSpec> = expected.iter().map(|(kind, ..)| spec(&world, lane, kind)).collect();
    let ids: Vec<JobId> = world.accept(&specs).await.into_iter().map(|job| job.id).collect();
    let (engine, _unblock) = start(&database);
    const FINAL: &str = "select (select count(*) from headgate.finished_jobs) + (select count(*) from headgate.dead_letter_jobs)";
    database.until_at_least(FINAL, 10).await;
    engine.shutdown().await;
    for (id, (kind, status, error)) in ids.into_iter().zip(expected) {
        let found = world.get(id).await;
        assert_eq!((found.job.status, found.job.error_kind), (status, error), "{kind}");
        let message = found.job.error_message.unwrap_or_default();
        assert!(!message.contains('\0') && message.len() < 20_000, "{kind}: {} bytes", message.len());
    }
    world.must_be_sound().await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_handler_that_blocks_its_thread_times_out_and_its_late_result_is_dropped() {
    let database = Database::create().await;
    let world = database.world().await;
    let lane = world.lane().await;
    let id = world.accept(&[spec(&world, lane, "blocks")]).await[0].id;
    let (engine, unblock) = start(&database);
    database.until_at_least("select count(*) from headgate.dead_letter_jobs", 1).await;
    assert_eq!(
        (engine.watch().report().running, engine.watch().report().blocked),
        (0, 1),
        "its slot is lost until the thread returns"
    );
    world.accept_plain(lane, 50).await;
    engine.wake();
    database.until_at_least("select count(*) from headgate.finished_jobs", 50).await;

    unblock.send(()).unwrap();
    crate::support::eventually("the thread has returned", || async { engine.watch().report().blocked == 0 })
        .await;
    world.accept_plain(lane, 5).await;
    engine.wake();
    database.until_at_least("select count(*) from headgate.finished_jobs", 55).await;
    engine.shutdown().await;
    let found = world.get(id).await;
    assert_eq!(
        (found.job.status, found.attempts.len()),
        (JobStatus::Failed, 1),
        "its late result is dropped"
    );
    assert_eq!(found.attempts[0].error_kind, Some(ErrorKind::Timeout));
    world.must_be_sound().await;
    database.drop().await;
}

#[tokio::test]
async fn a_payload_that_cannot_be_stored_is_refused_with_the_whole_call() {
    let database = Database::create().await;
    let world = database.world().await;
    let lane = world.lane().await;
    let fine = world.spec(lane);
    for payload in [json!({ "a": "\0" }), json!({ "\0": 1 })] {
        let specs = [fine.clone(), JobSpec { payload: Some(payload), ..fine.clone() }];
        let mut transaction = database.pool.begin().await.unwrap();
        assert!(jobs::enqueue(&mut transaction, &specs).await.is_err());
        drop(transaction);
    }
    let deepest = JobSpec { payload: Some(deep(64)), ..fine };
    world.accept(&[deepest]).await;
    assert_eq!(database.number("select count(*) from headgate.jobs").await, 1);
    world.must_be_sound().await;
    database.drop().await;
}
