//! Whatever a handler says, or leaves unsaid, its job comes to an end, and no other suffers.

use crate::support::{Database, World};
use async_trait::async_trait;
use model::{
    id::JobId,
    job::JobStatus,
    rules::verdict::{ErrorKind, Verdict},
};
use queue::{
    EngineConfig,
    store::jobs::{self, Completion, Failure, JobSpec, Response},
    worker::{AttemptHandler, Engine, EngineHandle, Handlers, LeasedJob, Outcome},
};
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};
use tokio_util::sync::CancellationToken;

/// What no column takes as it is, or nobody wants to read whole.
fn foul() -> String {
    let invalid = String::from_utf8_lossy(b"\xff\xfe\xc3(\x00 ").into_owned();
    format!("{invalid}\u{0}\u{202e}\u{feff}{}", "\u{1f480}\u{0}".repeat(200_000))
}

fn failed(verdict: Verdict) -> Outcome {
    let response = Some(Response { status: 599, excerpt: foul(), duration: Duration::MAX });
    Outcome::Failed {
        error: Failure {
            verdict,
            message: foul(),
            response,
            sent_body: Some(json!({ "a": foul() })),
            exchange: None,
        },
    }
}

fn completed(result: Value) -> Outcome {
    let response = Some(Response { status: 200, excerpt: foul(), duration: Duration::MAX });
    Outcome::Completed { how: Completion::Sent, response, result: Some(result), receipt: None }
}

fn deep(levels: usize) -> Value {
    (0..levels).fold(json!(1), |value, _| json!([value]))
}

/// Panics when it is dropped.
struct Mine;

impl Drop for Mine {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "stepped on");
    }
}

/// Does what the job's type says; one blocks its thread until it is told.
struct Fouler {
    go_on: Mutex<mpsc::Receiver<()>>,
}

#[async_trait]
impl AttemptHandler for Fouler {
    async fn run(&self, job: &LeasedJob) -> Outcome {
        match job.job_type.as_str() {
            "foul result" => completed(json!({ foul(): foul() })),
            "deep result" => completed(deep(500)),
            "huge result" => completed(json!("x".repeat(2_000_000))),
            "foul failure" => failed(Verdict::Retry {
                kind: ErrorKind::Retryable,
                at_least: Some(Duration::MAX),
                quiets_integration: false,
            }),
            "foul refusal" => failed(Verdict::GiveUp { pauses_integration: false }),
            "panics" => panic!("{}", foul()),
            "panics with a number" => std::panic::panic_any(42),
            "panics when it is stopped" => {
                let _mine = Mine;
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

fn start(database: &Database) -> (EngineHandle, mpsc::Sender<()>) {
    let (tell, go_on) = mpsc::channel();
    let handlers = Handlers::new(Arc::new(Fouler { go_on: Mutex::new(go_on) }));
    let config =
        EngineConfig { workers: 20, poll_interval: Duration::from_millis(200), ..EngineConfig::default() };
    (Engine::start(database.pool.clone(), config, handlers, CancellationToken::new()), tell)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn every_foul_thing_a_handler_does_ends_its_own_job_alone() {
    let database = Database::create().await;
    let world = database.world().await;
    let lane = world.lane().await;
    let expected = [
        ("foul result", JobStatus::Completed, None),
        ("deep result", JobStatus::Completed, None),
        ("huge result", JobStatus::Completed, None),
        ("foul failure", JobStatus::Failed, Some(ErrorKind::RetriesExceeded)),
        ("foul refusal", JobStatus::Failed, Some(ErrorKind::NotRetryable)),
        ("panics", JobStatus::Failed, Some(ErrorKind::RetriesExceeded)),
        ("panics with a number", JobStatus::Failed, Some(ErrorKind::RetriesExceeded)),
        ("panics when it is stopped", JobStatus::Failed, Some(ErrorKind::RetriesExceeded)),
        ("never ends", JobStatus::Failed, Some(ErrorKind::RetriesExceeded)),
        ("plain", JobStatus::Completed, None),
    ];
    let specs: Vec<JobSpec> = expected.iter().map(|(kind, ..)| spec(&world, lane, kind)).collect();
    let ids: Vec<JobId> = world.accept(&specs).await.into_iter().map(|job| job.id).collect();
    let (engine, _tell) = start(&database);
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
async fn a_handler_that_blocks_its_thread_is_timed_out_meanwhile_and_heard_no_more() {
    let database = Database::create().await;
    let world = database.world().await;
    let lane = world.lane().await;
    let id = world.accept(&[spec(&world, lane, "blocks")]).await[0].id;
    let (engine, tell) = start(&database);
    database.until_at_least("select count(*) from headgate.dead_letter_jobs", 1).await;
    assert_eq!((engine.running(), engine.blocked()), (0, 1), "its slot is lost until it comes back");
    world.accept_plain(lane, 50).await;
    engine.wake();
    database.until_at_least("select count(*) from headgate.finished_jobs", 50).await;

    tell.send(()).unwrap();
    crate::support::eventually("the thread has come back", || async { engine.blocked() == 0 }).await;
    world.accept_plain(lane, 5).await;
    engine.wake();
    database.until_at_least("select count(*) from headgate.finished_jobs", 55).await;
    engine.shutdown().await;
    let found = world.get(id).await;
    assert_eq!((found.job.status, found.attempts.len()), (JobStatus::Failed, 1), "what it said is dropped");
    assert_eq!(found.attempts[0].error_kind, Some(ErrorKind::Timeout));
    world.must_be_sound().await;
    database.drop().await;
}

#[tokio::test]
async fn a_payload_that_cannot_be_stored_is_refused_at_the_door_with_all_that_came_with_it() {
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
