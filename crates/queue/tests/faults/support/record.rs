//! A handler that does what a job's payload says and records when: the invariants are checked against these records.

use super::Act;
use async_trait::async_trait;
use model::rules::verdict::{ErrorKind, Verdict};
use queue::store::jobs::{Completion, Failure};
use queue::worker::{AttemptHandler, LeasedJob, Outcome, Slot};
use sqlx::PgPool;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

pub(crate) struct Recorder {
    /// Its own connections, so that it takes none from the engine.
    pool: PgPool,
    child: i32,
}

impl Recorder {
    pub(crate) fn new(pool: PgPool, child: i32) -> Arc<Self> {
        Arc::new(Self { pool, child })
    }

    /// Records the beginning. The worker comes from the job's row: an attempt that has lost its lease by then is recorded without one.
    async fn begin(&self, job: &LeasedJob) -> Open {
        let write = || {
            sqlx::query(
                "insert into attempts_seen (assignment_id, child, worker_id, job_id, integration_id, serialize_key, deduplication_id,
                    attempt, run_at)
                 select $1, $2, (select worker_id from headgate.jobs where id = $3 and assignment_id = $1), $3, $4, $5, $6, $7,
                    (select run_at from headgate.jobs where id = $3 and assignment_id = $1)
                 on conflict do nothing",
            )
            .bind(job.assignment_id.0)
            .bind(self.child)
            .bind(job.id)
            .bind(job.integration_id)
            .bind(&job.serialize_key)
            .bind(&job.deduplication_id)
            .bind(i32::from(job.attempt))
            .execute(&self.pool)
        };
        while write().await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Open { pool: self.pool.clone(), assignment: job.assignment_id.0, is_open: true }
    }
}

/// An attempt that has begun. If it is dropped before its end, it is recorded as stopped.
struct Open {
    pool: PgPool,
    assignment: uuid::Uuid,
    is_open: bool,
}

impl Open {
    async fn end(mut self, outcome: &'static str, sent_us: Option<i64>) {
        self.is_open = false;
        close(self.pool.clone(), self.assignment, outcome, Instant::now(), sent_us).await;
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.is_open {
            let write = close(self.pool.clone(), self.assignment, "stopped", Instant::now(), None);
            Handle::current().spawn(write);
        }
    }
}

/// Repeats the write until it succeeds; the recorded time is that of the end, however long that takes.
async fn close(
    pool: PgPool,
    assignment: uuid::Uuid,
    outcome: &'static str,
    at: Instant,
    sent_us: Option<i64>,
) {
    let write = || {
        sqlx::query(
            "update attempts_seen set outcome = $2, sent_us = $3, ended_at = greatest(clock_timestamp() - $4 * interval '1 microsecond', started_at)
             where assignment_id = $1",
        )
        .bind(assignment)
        .bind(outcome)
        .bind(sent_us)
        .bind(i64::try_from(at.elapsed().as_micros()).unwrap())
        .execute(&pool)
    };
    while write().await.is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[async_trait]
impl AttemptHandler for Recorder {
    async fn run(&self, job: &LeasedJob) -> Outcome {
        let act: Act = serde_json::from_value(job.payload.clone().unwrap()).unwrap();
        let open = self.begin(job).await;
        let mut sent_us = None;
        match act {
            Act::Do => {}
            Act::Block => loop {
                std::thread::park();
            },
            Act::Take(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
            Act::Send => match job.slot().await {
                Slot::Go => sent_us = Some(chrono::Utc::now().timestamp_micros()),
                Slot::Later(until) => {
                    open.end("released", None).await;
                    return Outcome::Released { until };
                }
            },
            Act::Stumble(times) if job.attempt <= times => {
                open.end("stumbled", None).await;
                let retry =
                    Verdict::Retry { kind: ErrorKind::Retryable, at_least: None, quiets_integration: false };
                return failed(retry);
            }
            Act::Stumble(_) => {}
            Act::Refuse => {
                open.end("refused", None).await;
                return failed(Verdict::GiveUp { pauses_integration: false });
            }
            Act::Panic => {
                open.end("panicked", None).await;
                panic!("asked for by the payload");
            }
        }
        open.end("done", sent_us).await;
        Outcome::Completed { how: Completion::Done, response: None, result: None, receipt: None }
    }
}

fn failed(verdict: Verdict) -> Outcome {
    // An external system may answer anything.
    let message = "no\0 \u{fffd}\u{202e} way".to_owned();
    Outcome::Failed { error: Failure { verdict, message, response: None, sent_body: None, exchange: None } }
}
