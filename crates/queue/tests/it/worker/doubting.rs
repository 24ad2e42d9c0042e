//! What may have arrived is noted, however an attempt ends.

use crate::support::{World, config, failed, ok, start, until, until_recorded};
use async_trait::async_trait;
use model::rules::verdict::{ErrorKind, Verdict};
use queue::{
    EngineConfig,
    store::jobs::{self, Completion, JobSpec},
    worker::{AttemptHandler, CompletedJob, EndedAs, EndedJob, LeasedJob, Outcome, SendPermit},
};
use sqlx::{PgConnection, PgPool};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::sync::Notify;

/// Sends something in doubt, ends as its kind says, and remembers what it was shown.
#[derive(Default)]
struct Doubter {
    begun: Notify,
    go_on: Notify,
    shown: Mutex<Vec<(String, EndedAs, Option<String>)>>,
}

#[async_trait]
impl AttemptHandler for Doubter {
    async fn run(&self, job: &LeasedJob) -> Outcome {
        job.mark_uncertain(Box::new(job.job_type.clone()));
        match job.job_type.as_str() {
            "settled" => job.clear_uncertain(),
            "panics" => panic!("on the way"),
            "slow" => std::future::pending().await,
            "unwritable" | "panics late" => {
                return Outcome::Completed {
                    how: Completion::Sent,
                    response: None,
                    result: None,
                    receipt: None,
                };
            }
            "called off" => {
                self.begun.notify_one();
                self.go_on.notified().await;
            }
            _ => {}
        }
        failed(Verdict::Retry { kind: ErrorKind::Retryable, at_least: None, quiets_integration: false })
    }

    async fn on_completed(
        &self,
        connection: &mut PgConnection,
        done: &[CompletedJob],
    ) -> Result<(), sqlx::Error> {
        assert!(done.iter().all(|job| job.job_type != "panics late"), "a panic inside the transaction");
        sqlx::query("select 1 / 0").execute(connection).await?;
        Ok(())
    }

    async fn on_ended(&self, connection: &mut PgConnection, ended: &[EndedJob]) -> Result<(), sqlx::Error> {
        sqlx::query("select 1").execute(connection).await?;
        let mut shown = self.shown.lock().unwrap();
        for job in ended {
            let doubt = job.uncertain.as_ref().and_then(|doubt| doubt.downcast_ref::<String>().cloned());
            shown.push((job.job_type.clone(), job.ended_as, doubt));
        }
        Ok(())
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn every_end_that_is_no_completion_is_shown_with_its_doubt(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let kinds = ["plain", "settled", "panics", "slow", "unwritable", "panics late"];
    let specs: Vec<JobSpec> = kinds
        .iter()
        .map(|kind| JobSpec {
            job_type: (*kind).to_owned(),
            max_attempts: 1,
            timeout_ms: Some(if *kind == "slow" { 100 } else { 20_000 }),
            ..world.spec(lane)
        })
        .collect();
    world.accept(&specs).await;
    let doubter = Arc::new(Doubter::default());
    let engine = start(&pool, config(), doubter.clone());
    until_recorded(&engine, 6).await;
    engine.shutdown().await;
    let shown = std::mem::take(&mut *doubter.shown.lock().unwrap());
    for kind in kinds {
        let doubt = (kind != "settled").then(|| kind.to_owned());
        assert!(shown.contains(&(kind.to_owned(), EndedAs::Dead, doubt)), "{kind}: {shown:?}");
    }
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn what_a_job_called_off_meanwhile_sent_is_noted(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let spec = JobSpec { job_type: "called off".into(), ..world.spec(lane) };
    let id = world.accept(&[spec]).await[0].id;
    let doubter = Arc::new(Doubter::default());
    let engine = start(&pool, config(), doubter.clone());
    doubter.begun.notified().await;
    world.cancel(id).await.unwrap();
    until_recorded(&engine, 1).await;
    engine.shutdown().await;
    let expected = ("called off".to_owned(), EndedAs::Cancelled, Some("called off".to_owned()));
    assert_eq!(*doubter.shown.lock().unwrap(), [expected]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_missing_partition_is_made_and_the_result_kept(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    sqlx::raw_sql(
        "do $$ declare p regclass; begin
            for p in select inhrelid::regclass from pg_inherits
                where inhparent in ('headgate.finished_jobs'::regclass, 'headgate.job_attempts'::regclass)
            loop execute format('drop table %s', p); end loop; end $$",
    )
    .execute(&pool)
    .await
    .unwrap();
    world.accept(&[JobSpec { job_type: "plain".into(), max_attempts: 1, ..world.spec(lane) }]).await;
    let engine = start(&pool, config(), Arc::new(Doubter::default()));
    until(&pool, "select count(*) = 1 from headgate.dead_letter_jobs").await;
    engine.shutdown().await;
    assert_eq!(world.number("select count(*) from headgate.job_attempts").await, 1, "tried once");
}

/// Keeps the right to send beyond its attempt.
#[derive(Default)]
struct Keeper(Mutex<Option<SendPermit>>);

#[async_trait]
impl AttemptHandler for Keeper {
    async fn run(&self, job: &LeasedJob) -> Outcome {
        let right = job.send_permit();
        assert!(right.mark_uncertain(Box::new(())), "the attempt goes on");
        right.clear_uncertain();
        *self.0.lock().unwrap() = Some(right);
        Outcome::Completed { how: Completion::Sent, response: None, result: None, receipt: None }
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn nothing_may_be_sent_for_an_attempt_that_has_ended(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    world.accept_plain(lane, 1).await;
    let keeper = Arc::new(Keeper::default());
    let handler = Arc::clone(&keeper);
    let engine = start(&pool, config(), handler);
    until_recorded(&engine, 1).await;
    engine.shutdown().await;
    let right = keeper.0.lock().unwrap().take().unwrap();
    assert!(!right.mark_uncertain(Box::new(())));
}

/// Notes what an attempt left behind whose job was taken away, in a row that others may hold.
#[derive(Default)]
struct LateNoter {
    begun: Notify,
    patience: Mutex<Vec<(String, String)>>,
}

#[async_trait]
impl AttemptHandler for LateNoter {
    async fn run(&self, job: &LeasedJob) -> Outcome {
        if job.job_type == "taken away" {
            job.mark_uncertain(Box::new(()));
            self.begun.notify_one();
            std::future::pending::<()>().await;
        }
        ok()
    }

    async fn on_ended(&self, connection: &mut PgConnection, ended: &[EndedJob]) -> Result<(), sqlx::Error> {
        assert!(ended.iter().all(|job| job.ended_as == EndedAs::Unrecorded && job.uncertain.is_some()));
        let patience = sqlx::query_as(
            "select current_setting('lock_timeout'), current_setting('idle_in_transaction_session_timeout')",
        );
        let patience = patience.fetch_one(&mut *connection).await?;
        self.patience.lock().unwrap().push(patience);
        sqlx::query("update notes set n = n + 1").execute(connection).await?;
        Ok(())
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn what_came_too_late_waits_for_its_row_apart_and_is_noted_once(pool: PgPool) {
    sqlx::raw_sql("create table notes (n int not null); insert into notes values (0)")
        .execute(&pool)
        .await
        .unwrap();
    let world = World::new(&pool).await;
    let (lane, deleted) = (world.lane().await, world.lane().await);
    world.accept(&[JobSpec { job_type: "taken away".into(), ..world.spec(deleted) }]).await;
    let noter = Arc::new(LateNoter::default());
    let hasty = EngineConfig { lock_timeout: Duration::from_millis(5), ..config() };
    let engine = start(&pool, hasty, noter.clone());
    noter.begun.notified().await;
    let mut stranger = pool.begin().await.unwrap();
    sqlx::query("update notes set n = 100").execute(&mut *stranger).await.unwrap();
    let mut transaction = pool.begin().await.unwrap();
    assert_eq!(jobs::cancel_integration_jobs(&mut transaction, deleted, 10).await.unwrap(), 1);
    transaction.commit().await.unwrap();
    let watch = engine.watch();
    let asked = async {
        while watch.report().locked_elsewhere != 1 {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(30), asked).await;
    assert!(waited.is_ok(), "it keeps a writer: {:?}", watch.report());
    world.accept_plain(lane, 30).await;
    engine.wake();
    until(&pool, "select count(*) = 30 from headgate.finished_jobs where status = 3").await;
    // Several rounds later it waits still.
    while noter.patience.lock().unwrap().len() < 20 {
        tokio::task::yield_now().await;
    }
    stranger.commit().await.unwrap();
    until(&pool, "select n = 101 from notes").await;
    engine.shutdown().await;
    assert_eq!(world.number("select n::bigint from notes").await, 101);
    let patience = noter.patience.lock().unwrap();
    for (lock, silence) in patience.iter() {
        assert!(["1ms", "5ms", "25ms"].contains(&lock.as_str()) && silence == "5s", "{lock} {silence}");
    }
}
