//! What may have arrived is passed to `on_ended`, however an attempt ends.

use crate::support::{World, config, failed, ok, start, until, until_recorded};
use async_trait::async_trait;
use model::rules::verdict::{ErrorKind, Verdict};
use queue::EngineConfig;
use queue::store::jobs::{self, Completion, JobSpec};
use queue::worker::{AttemptHandler, CompletedJob, EndedAs, EndedJob, LeasedJob, Outcome, SendPermit};
use sqlx::{PgConnection, PgPool};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

/// Marks each attempt as uncertain, ends as the job type says, and records what it got in `on_ended`.
#[derive(Default)]
struct UncertainSender {
    begun: Notify,
    go_on: Notify,
    shown: Mutex<Vec<(String, EndedAs, Option<String>)>>,
}

#[async_trait]
impl AttemptHandler for UncertainSender {
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
            "cancelled" => {
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
            let what = job.uncertain.as_ref().and_then(|what| what.downcast_ref::<String>().cloned());
            shown.push((job.job_type.clone(), job.ended_as, what));
        }
        Ok(())
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn every_end_but_a_completion_is_passed_with_what_is_uncertain(pool: PgPool) {
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
    let recorder = Arc::new(UncertainSender::default());
    let engine = start(&pool, config(), recorder.clone());
    until_recorded(&engine, 6).await;
    engine.shutdown().await;
    let shown = std::mem::take(&mut *recorder.shown.lock().unwrap());
    for kind in kinds {
        let what = (kind != "settled").then(|| kind.to_owned());
        assert!(shown.contains(&(kind.to_owned(), EndedAs::Dead, what)), "{kind}: {shown:?}");
    }
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn what_a_job_cancelled_meanwhile_sent_is_passed(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let spec = JobSpec { job_type: "cancelled".into(), ..world.spec(lane) };
    let id = world.accept(&[spec]).await[0].id;
    let recorder = Arc::new(UncertainSender::default());
    let engine = start(&pool, config(), recorder.clone());
    recorder.begun.notified().await;
    world.cancel(id).await.unwrap();
    until_recorded(&engine, 1).await;
    engine.shutdown().await;
    let expected = ("cancelled".to_owned(), EndedAs::Cancelled, Some("cancelled".to_owned()));
    assert_eq!(*recorder.shown.lock().unwrap(), [expected]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_missing_partition_is_created_and_the_result_kept(pool: PgPool) {
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
    let engine = start(&pool, config(), Arc::new(UncertainSender::default()));
    until(&pool, "select count(*) = 1 from headgate.dead_letter_jobs").await;
    engine.shutdown().await;
    assert_eq!(
        world.number("select count(*) from headgate.job_attempts").await,
        1,
        "the attempt was not repeated"
    );
}

/// Keeps its send permit beyond the attempt.
#[derive(Default)]
struct Keeper(Mutex<Option<SendPermit>>);

#[async_trait]
impl AttemptHandler for Keeper {
    async fn run(&self, job: &LeasedJob) -> Outcome {
        let permit = job.send_permit();
        assert!(permit.mark_uncertain(Box::new(())), "the attempt is still running");
        permit.clear_uncertain();
        *self.0.lock().unwrap() = Some(permit);
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
    let permit = keeper.0.lock().unwrap().take().unwrap();
    assert!(!permit.mark_uncertain(Box::new(())));
}

/// Updates a row that others may lock, for an attempt whose job was taken away.
#[derive(Default)]
struct LateWriter {
    begun: Notify,
    timeouts: Mutex<Vec<(String, String)>>,
}

#[async_trait]
impl AttemptHandler for LateWriter {
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
        let timeouts = sqlx::query_as(
            "select current_setting('lock_timeout'), current_setting('idle_in_transaction_session_timeout')",
        );
        let timeouts = timeouts.fetch_one(&mut *connection).await?;
        self.timeouts.lock().unwrap().push(timeouts);
        sqlx::query("update notes set n = n + 1").execute(connection).await?;
        Ok(())
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_late_result_waits_for_a_lock_by_itself_and_is_written_once(pool: PgPool) {
    sqlx::raw_sql("create table notes (n int not null); insert into notes values (0)")
        .execute(&pool)
        .await
        .unwrap();
    let world = World::new(&pool).await;
    let (lane, deleted) = (world.lane().await, world.lane().await);
    world.accept(&[JobSpec { job_type: "taken away".into(), ..world.spec(deleted) }]).await;
    let writer = Arc::new(LateWriter::default());
    let short_lock_timeout = EngineConfig { lock_timeout: Duration::from_millis(5), ..config() };
    let engine = start(&pool, short_lock_timeout, writer.clone());
    writer.begun.notified().await;
    let mut lock_holder = pool.begin().await.unwrap();
    sqlx::query("update notes set n = 100").execute(&mut *lock_holder).await.unwrap();
    let mut transaction = pool.begin().await.unwrap();
    assert_eq!(jobs::cancel_integration_jobs(&mut transaction, deleted, 10).await.unwrap(), 1);
    transaction.commit().await.unwrap();
    let watch = engine.watch();
    let polling = async {
        while watch.report().locked_elsewhere != 1 {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), polling).await;
    assert!(waited.is_ok(), "it waits by itself: {:?}", watch.report());
    world.accept_plain(lane, 30).await;
    engine.wake();
    until(&pool, "select count(*) = 30 from headgate.finished_jobs where status = 3").await;
    // It still waits after several rounds.
    while writer.timeouts.lock().unwrap().len() < 20 {
        tokio::task::yield_now().await;
    }
    lock_holder.commit().await.unwrap();
    until(&pool, "select n = 101 from notes").await;
    engine.shutdown().await;
    assert_eq!(world.number("select n::bigint from notes").await, 101);
    let timeouts = writer.timeouts.lock().unwrap();
    for (lock, idle) in timeouts.iter() {
        assert!(["1ms", "5ms", "25ms"].contains(&lock.as_str()) && idle == "5s", "{lock} {idle}");
    }
}
