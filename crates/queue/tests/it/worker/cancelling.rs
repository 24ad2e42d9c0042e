//! Handlers of cancelled jobs are stopped, and no job of their record or key runs meanwhile.

use crate::support::{World, config, failed, ok, start, until, until_recorded};
use async_trait::async_trait;
use model::actor::Scope;
use model::attempt::AttemptOutcome;
use model::id::{IntegrationId, JobId};
use model::job::JobStatus;
use model::rules::verdict::{ErrorKind, Verdict};
use queue::EngineConfig;
use queue::store::jobs::{self, JobSpec};
use queue::testing::leased_job;
use queue::worker::{AttemptHandler, EndedAs, EndedJob, LeasedJob, Outcome};
use sqlx::{PgConnection, PgPool};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore};

/// Heartbeats so rare that none notices a cancel request.
fn rare_heartbeats() -> EngineConfig {
    EngineConfig { heartbeat_interval: Duration::from_secs(600), ..config() }
}

/// Cancels as if the notification were lost.
async fn cancel_without_notification(pool: &PgPool) {
    let mark = "update headgate.jobs set cancel_requested_at = clock_timestamp(), cancel_requested_of = assignment_id
        where status = 1";
    sqlx::query(mark).execute(pool).await.unwrap();
}

async fn until_listening(pool: &PgPool) {
    let listens = "select exists (
        select 1 from pg_stat_activity where datname = current_database() and query like 'LISTEN%'
    )";
    until(pool, listens).await;
}

/// Runs each job until it is stopped or notified, and records how many run at once.
struct Watched {
    begun: Semaphore,
    go_on: Notify,
    state: Mutex<State>,
    ended: Mutex<Vec<EndedAs>>,
}

#[derive(Default)]
struct State {
    /// Number of running jobs, by record and by key.
    running: HashMap<String, usize>,
    max_running: usize,
    order: Vec<JobId>,
}

/// A running attempt, until it is dropped.
struct Running<'a>(&'a Watched, [String; 2]);

impl<'a> Running<'a> {
    fn begin(watched: &'a Watched, job: &LeasedJob) -> Self {
        let names = [format!("record {:?}", job.deduplication_id), format!("key {:?}", job.serialize_key)];
        let mut state = watched.state.lock().unwrap();
        state.order.push(job.id);
        for name in &names {
            let running = state.running.entry(name.clone()).or_default();
            *running += 1;
            state.max_running = state.max_running.max(state.running[name]);
        }
        Self(watched, names)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock().unwrap();
        for name in &self.1 {
            *state.running.get_mut(name).unwrap() -= 1;
        }
    }
}

impl Watched {
    fn new() -> Arc<Self> {
        let (begun, go_on) = (Semaphore::new(0), Notify::new());
        Arc::new(Self { begun, go_on, state: Mutex::default(), ended: Mutex::default() })
    }

    async fn until_begun(&self, count: u32) {
        let begun = tokio::time::timeout(Duration::from_secs(60), self.begun.acquire_many(count)).await;
        begun.expect("the jobs begin").unwrap().forget();
    }

    fn max_running(&self) -> usize {
        self.state.lock().unwrap().max_running
    }

    fn order(&self) -> Vec<JobId> {
        self.state.lock().unwrap().order.clone()
    }
}

#[async_trait]
impl AttemptHandler for Watched {
    async fn run(&self, job: &LeasedJob) -> Outcome {
        let _running = Running::begin(self, job);
        let permit = job.send_permit();
        if job.job_type == "carried" {
            assert!(permit.mark_uncertain(Box::new(())), "it is sent in a bundle");
        }
        self.begun.add_permits(1);
        if job.job_type != "quick" {
            self.go_on.notified().await;
        }
        if job.job_type == "fails" {
            let verdict =
                Verdict::Retry { kind: ErrorKind::Retryable, at_least: None, quiets_integration: false };
            return failed(verdict);
        }
        ok()
    }

    async fn on_ended(&self, _: &mut PgConnection, ended: &[EndedJob]) -> Result<(), sqlx::Error> {
        self.ended.lock().unwrap().extend(ended.iter().map(|one| one.ended_as));
        Ok(())
    }
}

fn of(world: &World, lane: IntegrationId, job_type: &str, dedup: &str) -> JobSpec {
    JobSpec {
        job_type: job_type.into(),
        deduplication_id: Some(dedup.into()),
        serialize_key: Some("k".into()),
        ..world.spec(lane)
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_handler_of_a_cancelled_job_is_stopped_at_once_and_the_next_job_begins_after_it(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let watched = Watched::new();
    let first = world.accept(&[of(&world, lane, "slow", "a")]).await[0].id;
    let engine = start(&pool, rare_heartbeats(), watched.clone());
    watched.until_begun(1).await;
    let behind = world.accept(&[of(&world, lane, "quick", "b")]).await[0].id;
    let cancelling = world.cancel(first).await.unwrap();
    let successor = world.accept(&[of(&world, lane, "quick", "a")]).await[0].id;
    assert_ne!(successor, first, "a change during the cancel is another job");
    let job = jobs::wait_for_cancel(&pool, Scope::AllApps, cancelling, Duration::from_secs(30)).await;
    assert_eq!((job.status, job.cancel_requested_at), (JobStatus::Cancelled, None));
    watched.until_begun(2).await;
    until_recorded(&engine, 3).await;
    engine.shutdown().await;
    assert_eq!(watched.order(), [first, behind, successor], "in the order of acceptance");
    assert_eq!(watched.max_running(), 1, "one at a time per record and per key");
    let attempts = world.get(first).await.attempts;
    assert_eq!(attempts.iter().map(|one| one.outcome).collect::<Vec<_>>(), [AttemptOutcome::Cancelled]);
    assert!(attempts[0].duration_ms.is_some() && attempts[0].worker_id.is_some());
    assert_eq!(*watched.ended.lock().unwrap(), [EndedAs::Cancelled]);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_heartbeat_notices_a_cancel_whose_notification_was_lost(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let watched = Watched::new();
    let id = world.accept(&[of(&world, lane, "slow", "a")]).await[0].id;
    let often = EngineConfig { heartbeat_interval: Duration::from_millis(300), ..config() };
    let engine = start(&pool, often, watched.clone());
    watched.until_begun(1).await;
    cancel_without_notification(&pool).await;
    until_recorded(&engine, 1).await;
    assert_eq!(world.get(id).await.job.status, JobStatus::Cancelled);
    engine.shutdown().await;
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_listener_that_reconnects_checks_for_missed_cancels_at_once(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let watched = Watched::new();
    world.accept(&[of(&world, lane, "slow", "a")]).await;
    let engine = start(&pool, rare_heartbeats(), watched.clone());
    watched.until_begun(1).await;
    until_listening(&pool).await;
    cancel_without_notification(&pool).await;
    sqlx::query("select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like 'LISTEN%'")
        .execute(&pool)
        .await
        .unwrap();
    until_recorded(&engine, 1).await;
    engine.shutdown().await;
    assert_eq!(*watched.ended.lock().unwrap(), [EndedAs::Cancelled]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_that_ends_before_it_notices_the_cancel_keeps_its_outcome(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let watched = Watched::new();
    for (job_type, status, ended) in
        [("slow", JobStatus::Completed, None), ("fails", JobStatus::Cancelled, Some(EndedAs::Cancelled))]
    {
        let id = world.accept(&[of(&world, lane, job_type, "a")]).await[0].id;
        let engine = start(&pool, rare_heartbeats(), watched.clone());
        watched.until_begun(1).await;
        cancel_without_notification(&pool).await;
        watched.go_on.notify_one();
        until_recorded(&engine, 1).await;
        engine.shutdown().await;
        let found = world.get(id).await;
        assert_eq!(found.job.status, status, "{job_type}");
        assert_eq!(watched.ended.lock().unwrap().pop(), ended);
        let is_failed = found.attempts[0].outcome == AttemptOutcome::Failed;
        assert_eq!((found.attempts.len(), is_failed), (1, job_type == "fails"));
        world.must_be_sound().await;
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_handler_that_cannot_be_stopped_learns_of_the_cancel_by_its_reports(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let id = world.accept_plain(lane, 1).await[0];
    let job = world.claim(worker, 1).await.remove(0);
    let leased = leased_job(job, Some(pool.clone()));
    leased.progress(1, 2, "half").unwrap();
    until(&pool, "select count(*) = 1 from headgate.jobs where progress is not null").await;
    assert_eq!(leased.progress(1, 2, "half"), Ok(()));
    world.cancel(id).await.unwrap();
    let polling = async {
        while leased.progress(2, 2, "all").is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), polling).await.expect("the handler learns of it");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_cancelled_job_that_is_sent_in_a_bundle_is_waited_for(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let watched = Watched::new();
    let plain = |job_type: &str| JobSpec { job_type: job_type.into(), ..world.spec(lane) };
    let ids = world.accept(&[of(&world, lane, "carried", "a"), plain("slow")]).await;
    let engine = start(&pool, rare_heartbeats(), watched.clone());
    watched.until_begun(2).await;
    let successor = world.accept(&[of(&world, lane, "quick", "a")]).await[0].id;
    for job in &ids {
        world.cancel(job.id).await.unwrap();
    }
    // Both cancels were noticed when the second handler was stopped.
    until_recorded(&engine, 1).await;
    assert_eq!(world.get(ids[1].id).await.job.status, JobStatus::Cancelled);
    assert_eq!(world.get(ids[0].id).await.job.status, JobStatus::Processing, "its request is being sent");
    watched.go_on.notify_one();
    watched.until_begun(1).await;
    until_recorded(&engine, 3).await;
    engine.shutdown().await;
    assert_eq!(world.get(ids[0].id).await.job.status, JobStatus::Completed);
    assert_eq!(watched.order().last(), Some(&successor));
    assert_eq!(watched.max_running(), 1);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_process_that_shuts_down_cancels_cancelled_jobs_instead_of_releasing_them(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let watched = Watched::new();
    let id = world.accept(&[of(&world, lane, "slow", "a")]).await[0].id;
    let grace = EngineConfig { shutdown_grace: Duration::from_millis(50), ..rare_heartbeats() };
    let engine = start(&pool, grace, watched.clone());
    watched.until_begun(1).await;
    cancel_without_notification(&pool).await;
    let behind = world.accept(&[of(&world, lane, "quick", "b")]).await[0].id;
    engine.shutdown().await;
    assert_eq!(world.get(id).await.job.status, JobStatus::Cancelled);
    assert_eq!(world.ready().await, [behind], "the next job of its key may run");
    assert_eq!(*watched.ended.lock().unwrap(), [EndedAs::Cancelled]);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_can_be_cancelled_during_the_shutdown_grace(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let watched = Watched::new();
    let id = world.accept(&[of(&world, lane, "slow", "a")]).await[0].id;
    let engine = start(
        &pool,
        EngineConfig { shutdown_grace: Duration::from_secs(300), ..rare_heartbeats() },
        watched.clone(),
    );
    watched.until_begun(1).await;
    until_listening(&pool).await;
    let stopping = tokio::spawn(engine.shutdown());
    world.cancel(id).await.unwrap();
    tokio::time::timeout(Duration::from_secs(60), stopping).await.expect("no job runs any more").unwrap();
    assert_eq!(world.get(id).await.job.status, JobStatus::Cancelled);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn handlers_of_a_deleted_integration_are_stopped(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let watched = Watched::new();
    let id = world.accept(&[of(&world, lane, "slow", "a")]).await[0].id;
    let engine = start(&pool, rare_heartbeats(), watched.clone());
    watched.until_begun(1).await;
    let mut transaction = pool.begin().await.unwrap();
    assert_eq!(jobs::cancel_integration_jobs(&mut transaction, lane, 100).await.unwrap(), 1);
    transaction.commit().await.unwrap();
    assert_eq!(world.get(id).await.job.status, JobStatus::Cancelled, "at once");
    // The result was handed to the finisher, which records nothing of it.
    until_recorded(&engine, 1).await;
    assert_eq!(engine.watch().report().running, 0);
    engine.shutdown().await;
    assert_eq!(*watched.ended.lock().unwrap(), []);
    world.must_be_sound().await;
}
