//! What may have arrived is noted, however an attempt ends.

use crate::support::{World, config, failed, start, until, until_recorded};
use async_trait::async_trait;
use model::rules::verdict::{ErrorKind, Verdict};
use queue::{
    store::jobs::{How, JobSpec},
    worker::{AttemptHandler, CompletedJob, EndedAs, EndedJob, HeldJob, Outcome, SendRight},
};
use sqlx::{PgConnection, PgPool};
use std::sync::{Arc, Mutex};
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
    async fn run(&self, job: &HeldJob) -> Outcome {
        job.doubt(Box::new(job.job_type.clone()));
        match job.job_type.as_str() {
            "settled" => job.settle(),
            "panics" => panic!("on the way"),
            "slow" => std::future::pending().await,
            "unwritable" | "panics late" => {
                return Outcome::Completed { how: How::Sent, response: None, result: None, receipt: None };
            }
            "called off" => {
                self.begun.notify_one();
                self.go_on.notified().await;
            }
            _ => {}
        }
        failed(Verdict::Retry { kind: ErrorKind::Retryable, at_least: None, holds_integration: false })
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
            let doubt = job.doubt.as_ref().and_then(|doubt| doubt.downcast_ref::<String>().cloned());
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
struct Keeper(Mutex<Option<SendRight>>);

#[async_trait]
impl AttemptHandler for Keeper {
    async fn run(&self, job: &HeldJob) -> Outcome {
        let right = job.send_right();
        assert!(right.doubt(Box::new(())), "the attempt goes on");
        right.settle();
        *self.0.lock().unwrap() = Some(right);
        Outcome::Completed { how: How::Sent, response: None, result: None, receipt: None }
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
    assert!(!right.doubt(Box::new(())));
}
