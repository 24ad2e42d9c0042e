//! The trait the engine calls for each attempt.
//!
//! [`AttemptHandler`] is the low-level interface: the job as it is stored, every outcome an attempt can have, and a part in the finishing
//! transaction. Headgate's deliveries implement it. For other kinds of jobs write a [`JobHandler`](crate::JobHandler), which has a typed payload and
//! `?`; [`Handlers::handle`](crate::worker::Handlers::handle) adapts it.

use crate::store::jobs::{Completion, Failure, Response};
use crate::worker::handler::{LeasedJob, Uncertain};
use async_trait::async_trait;
use chrono::{DateTime, Utc};
use model::id::{AppId, IntegrationId, JobId};
use serde_json::Value;
use sqlx::PgConnection;
use std::any::Any;

/// The outcome of one attempt.
#[derive(Debug)]
pub enum Outcome {
    /// The job is done.
    Completed {
        /// What was done; shown as the job's `outcome`.
        how: Completion,
        /// The response of the external system, if there was one.
        response: Option<Response>,
        /// What the job produced.
        result: Option<Value>,
        /// Any value for [`AttemptHandler::on_completed`], which runs in the transaction that ends the job.
        receipt: Option<Box<dyn Any + Send + Sync>>,
    },
    /// It failed; the verdict says whether it is retried.
    Failed {
        /// The error and its verdict.
        error: Failure,
    },
    /// The job is released and the attempt does not count, because there was no slot for it.
    Released {
        /// When it may be claimed again.
        until: DateTime<Utc>,
    },
}

/// A job that has completed under its lease: the argument of [`AttemptHandler::on_completed`].
pub struct CompletedJob {
    /// The job.
    pub id: JobId,
    /// Its app.
    pub app_id: AppId,
    /// Its lane.
    pub integration_id: IntegrationId,
    /// Its type.
    pub job_type: String,
    /// Type and id of the record, if the job is a record's change.
    pub record: Option<(String, String)>,
    /// What was done.
    pub how: Completion,
    /// The handler's value of [`Outcome::Completed`].
    pub receipt: Option<Box<dyn Any + Send + Sync>>,
}

/// How an attempt ended that did not complete its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedAs {
    /// It will be retried.
    Retried,
    /// The job became a dead letter.
    Dead,
    /// The job was released, and the attempt does not count.
    Released,
    /// The job was cancelled: it expired, or a cancel request stopped the attempt or prevented its retry.
    Cancelled,
    /// Nothing was recorded: the job is another worker's since the lease was lost, or was deleted with its integration.
    Unrecorded,
}

/// An attempt that did not complete its job: the argument of [`AttemptHandler::on_ended`].
pub struct EndedJob {
    /// The job.
    pub id: JobId,
    /// Its app.
    pub app_id: AppId,
    /// Its lane.
    pub integration_id: IntegrationId,
    /// Its type.
    pub job_type: String,
    /// Type and id of the record, if the job is a record's change.
    pub record: Option<(String, String)>,
    /// How the attempt ended.
    pub ended_as: EndedAs,
    /// Whether an earlier attempt vanished with its worker, so that nobody knows what it sent.
    pub may_have_arrived: bool,
    /// The last value of [`LeasedJob::mark_uncertain`], unless [`LeasedJob::clear_uncertain`] cleared it: also of an attempt that was stopped or
    /// panicked, and of one that completed when its completion could not be recorded.
    pub uncertain: Option<Uncertain>,
}

/// Makes the attempts at a kind of job.
#[async_trait]
pub trait AttemptHandler: Send + Sync + 'static {
    /// Makes one attempt. The future is dropped at the job's time-out, when the job is cancelled, and when its lease is lost; a panic is a failed
    /// attempt. Until it has been dropped no other job of its deduplication id or serialize key starts, so a handler that blocks its thread blocks
    /// those too.
    async fn run(&self, job: &LeasedJob) -> Outcome;

    /// Called inside the finishing transaction for this handler's jobs that have completed under their lease, to record what was sent. It is called
    /// again with the same jobs when the transaction has to be repeated. The database rolls the transaction back when it idles for five seconds
    /// ([`idle_in_transaction_timeout`](crate::EngineConfig::idle_in_transaction_timeout)). A job whose handler lets that happen is tried alone, five
    /// times; then the attempt has failed, with an error that says so.
    ///
    /// # Errors
    /// An error of the database, after which the transaction is repeated job by job.
    async fn on_completed(
        &self,
        _connection: &mut PgConnection,
        _done: &[CompletedJob],
    ) -> Result<(), sqlx::Error> {
        Ok(())
    }

    /// Called for this handler's attempts that did not complete their jobs, to record what may have arrived.
    ///
    /// It runs inside the finishing transaction, so that the end and what may have arrived are recorded together or not at all. For an attempt
    /// whose end was not recorded ([`EndedAs::Unrecorded`]) it runs in a transaction of its own, and only if something may have arrived. It is called
    /// again with the same attempts when the transaction has to be repeated.
    ///
    /// # Errors
    /// An error of the database, after which the transaction is repeated job by job.
    async fn on_ended(&self, _connection: &mut PgConnection, _ended: &[EndedJob]) -> Result<(), sqlx::Error> {
        Ok(())
    }

    /// Whether [`on_completed`](Self::on_completed) or [`on_ended`](Self::on_ended) may enqueue jobs: then this process claims once they are
    /// committed. Return false where they never do, which saves that query at the end of a job.
    fn may_enqueue(&self) -> bool {
        true
    }
}
