//! Handlers that block every thread of their process.

use crate::support::{Act, Children, Database};
use crate::worker::STUCK;
use async_trait::async_trait;
use model::id::JobId;
use queue::EngineConfig;
use queue::store::jobs::{Completion, JobSpec};
use queue::worker::{AttemptHandler, Engine, Handlers, LeasedJob, Outcome};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Blocks its thread until the test sends a message.
struct Blocker(Mutex<mpsc::Receiver<()>>);

#[async_trait]
impl AttemptHandler for Blocker {
    async fn run(&self, _job: &LeasedJob) -> Outcome {
        // Like code that was not written for async: nothing else runs on this thread.
        let _ = self.0.lock().unwrap().recv();
        Outcome::Completed { how: Completion::Done, response: None, result: None, receipt: None }
    }
}

/// An engine on a runtime of one thread, which its handler blocks until the returned sender sends; it shuts down once `stop` is cancelled.
fn blocked_engine(
    database: &Database,
    config: EngineConfig,
    stop: CancellationToken,
    report: mpsc::Sender<&'static str>,
) -> (mpsc::Sender<()>, thread::JoinHandle<()>) {
    let (go_on, blocked) = mpsc::channel();
    let url = database.url.clone();
    let thread = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let pool = sqlx::PgPool::connect(&url).await.unwrap();
            let handlers = Handlers::new(Arc::new(Blocker(Mutex::new(blocked))));
            let on_stuck = Arc::new(move |stuck| report.send(stuck).unwrap());
            let engine = Engine::start_watched(pool, config, handlers, stop.clone(), on_stuck);
            stop.cancelled().await;
            if engine.watch().report().stuck.is_none() {
                engine.shutdown().await;
            }
        });
    });
    (go_on, thread)
}

#[tokio::test]
async fn heartbeats_go_on_while_every_thread_is_blocked() {
    let database = Database::create().await;
    let world = database.world().await;
    let lane = world.lane().await;
    let id = world.accept_plain(lane, 1).await[0];
    let config = EngineConfig { heartbeat_interval: Duration::from_millis(300), ..EngineConfig::default() };
    let (stop, (report, stuck)) = (CancellationToken::new(), mpsc::channel());
    let (go_on, engine) = blocked_engine(&database, config, stop.clone(), report);
    database.until_at_least("select count(*) from headgate.jobs where status = 1", 1).await;
    // Heartbeats go on for longer than a lease.
    const HEARTBEAT_MS: &str = "select coalesce(max(extract(epoch from heartbeat_at - started_at) * 1000), 0)::bigint from headgate.workers";
    let blocked_at = database.number(HEARTBEAT_MS).await;
    database.until_at_least(HEARTBEAT_MS, blocked_at + 1_500).await;
    go_on.send(()).unwrap();
    database.until_at_least("select count(*) from headgate.finished_jobs", 1).await;
    stop.cancel();
    engine.join().unwrap();
    let found = world.get(id).await;
    assert_eq!(found.attempts.len(), 1, "it kept its lease, and so its job");
    assert_eq!(stuck.try_recv(), Err(mpsc::TryRecvError::Disconnected), "blocked, but not for long");
    database.drop().await;
}

#[tokio::test]
async fn the_watchdog_releases_the_lease_when_the_runtime_is_stuck() {
    let database = Database::create().await;
    let world = database.world().await;
    let lane = world.lane().await;
    world.accept_plain(lane, 1).await;
    let config = EngineConfig {
        heartbeat_interval: Duration::from_millis(300),
        watchdog_timeout: Duration::from_millis(500),
        ..EngineConfig::default()
    };
    let (stop, (report, stuck)) = (CancellationToken::new(), mpsc::channel());
    let (go_on, engine) = blocked_engine(&database, config, stop.clone(), report);
    let reported = tokio::task::spawn_blocking(move || stuck.recv()).await.unwrap();
    assert_eq!(reported, Ok("runtime"));
    database
        .until_at_least("select count(*) from headgate.workers where lease_until < clock_timestamp()", 1)
        .await;
    let recovered = world.recover().await;
    assert_eq!((recovered.returned, recovered.dead), (1, 0), "others get the job");
    go_on.send(()).unwrap();
    stop.cancel();
    engine.join().unwrap();
    assert_eq!(
        database.number("select count(*) from headgate.finished_jobs").await,
        0,
        "the late result is refused"
    );
    world.must_be_sound().await;
    database.drop().await;
}

#[tokio::test]
async fn jobs_that_block_every_process_of_their_program_become_dead_letters() {
    let database = Database::create().await;
    let world = database.world().await;
    let lane = world.lane_of("shop").await;
    let spec = |act: Act| JobSpec { payload: Some(serde_json::to_value(act).unwrap()), ..world.spec(lane) };
    // As many jobs as the process has threads.
    let poison: Vec<JobId> =
        world.accept(&[spec(Act::Block), spec(Act::Block)]).await.into_iter().map(|job| job.id).collect();
    let mut children = Children::of(&database);
    children.options().heartbeat = Duration::from_millis(400);
    children.options().watchdog_timeout = Duration::from_millis(500);
    children.options().program = Some("shop".to_owned());
    for _ in 0..3 {
        children.start(1);
        let ended = children.alive.remove(0).ended().await;
        assert_eq!(ended.code(), Some(STUCK), "the watchdog ended it: {ended}");
    }
    children.start(1);
    database
        .until_at_least("select count(*) from headgate.dead_letter_jobs where error_kind = 'worker_lost'", 2)
        .await;
    world.accept(&[spec(Act::Do)]).await;
    database.until_at_least("select count(*) from headgate.finished_jobs", 1).await;
    children.stop().await;
    for id in poison {
        assert_eq!(world.get(id).await.attempts.len(), 3, "three leases in a row");
    }
    world.must_be_sound().await;
    database.drop().await;
}
