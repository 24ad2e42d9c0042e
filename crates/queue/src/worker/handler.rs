//! What the engine calls for each attempt, and which of them it calls for which kind of job.
//!
//! [`AttemptHandler`] is the engine's side of a handler: a job as it lies in the table, every outcome an attempt can have, a word in the
//! finishing transaction. Deliveries are written against it. Who adds a kind of job to a program writes a [`JobHandler`] instead, which has
//! a typed payload and `?`, and is put behind this trait by [`Handlers::handle`].

use crate::{
    job::{Job, JobHandler, Typed},
    store::jobs::{Failure, How, Response},
    worker::{HeldJob, Unhandled},
};
use async_trait::async_trait;
use chrono::{DateTime, Utc};
use model::id::{AppId, IntegrationId, JobId};
use serde_json::Value;
use sqlx::PgConnection;
use std::{any::Any, collections::HashMap, sync::Arc};

/// What came of one attempt.
#[derive(Debug)]
pub enum Outcome {
    /// The job is done.
    Completed {
        /// What was done, as the job's `outcome` names it.
        how: How,
        /// The answer of the external system, if there was one.
        response: Option<Response>,
        /// What the job produced.
        result: Option<Value>,
        /// For [`AttemptHandler::on_completed`], which runs in the transaction that ends the job.
        receipt: Option<Box<dyn Any + Send + Sync>>,
    },
    /// It failed; the verdict says whether it is tried again.
    Failed {
        /// Why.
        error: Failure,
    },
    /// It did not begin, because there was no slot for it: it goes back, and no attempt is counted.
    Released {
        /// When there may be one.
        until: DateTime<Utc>,
    },
}

/// A job that did complete under its lease, as the finishing transaction shows it to its handler.
pub struct CompletedJob {
    /// Which job.
    pub id: JobId,
    /// Whose.
    pub app_id: AppId,
    /// For which integration.
    pub integration_id: IntegrationId,
    /// What kind of job.
    pub job_type: String,
    /// Type and id of the record, of a record's change.
    pub record: Option<(String, String)>,
    /// What was done.
    pub how: How,
    /// What the handler gave along.
    pub receipt: Option<Box<dyn Any + Send + Sync>>,
}

/// How an attempt ended that did not complete its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedAs {
    /// It is tried again.
    Retried,
    /// It became a dead letter.
    Dead,
    /// It went back, and the attempt is not counted.
    Released,
    /// It was called off: expired, or by hand, which stopped it or kept what it failed with from being tried again.
    Cancelled,
    /// The job was somebody else's by then, or gone: taken away with the lease, or deleted with its integration.
    Unrecorded,
}

/// An attempt that did not complete its job, as its handler is shown it.
pub struct EndedJob {
    /// Which job.
    pub id: JobId,
    /// Whose.
    pub app_id: AppId,
    /// For which integration.
    pub integration_id: IntegrationId,
    /// What kind of job.
    pub job_type: String,
    /// Type and id of the record, of a record's change.
    pub record: Option<(String, String)>,
    /// How it ended.
    pub ended_as: EndedAs,
    /// Whether an attempt before this one vanished with its worker, so that nobody knows what it sent.
    pub may_have_arrived: bool,
    /// What [`HeldJob::doubt`] was told last and [`HeldJob::settle`] did not take back: also of an attempt that was stopped or panicked,
    /// and of one that completed when its completion could not be recorded.
    pub doubt: Option<Doubt>,
}

/// What a handler says of itself about what may have arrived; only the handler can read it.
pub type Doubt = Box<dyn Any + Send + Sync>;

/// Makes the attempts at a kind of job.
#[async_trait]
pub trait AttemptHandler: Send + Sync + 'static {
    /// One attempt. It is stopped (dropped) when the job's time is over, when it is called off, or when its lease is in doubt; a panic is a
    /// failed attempt. Until it has been dropped no other attempt of its deduplication id or serialize key begins: a handler that blocks its
    /// thread holds those up.
    async fn run(&self, job: &HeldJob) -> Outcome;

    /// Inside the finishing transaction, for this handler's jobs that did complete under their lease: what was sent is recorded
    /// here. It may run again with the same jobs when the transaction has to be repeated. The database waits five seconds for the next
    /// statement ([`longest_silence`](crate::EngineConfig::longest_silence)), and then undoes it all. Whoever keeps it waiting for longer is
    /// told again, five times of one job alone; then that attempt is a failed one, which says so.
    ///
    /// # Errors
    /// Whatever the database answers: the transaction is repeated job by job.
    async fn on_completed(
        &self,
        _connection: &mut PgConnection,
        _done: &[CompletedJob],
    ) -> Result<(), sqlx::Error> {
        Ok(())
    }

    /// For this handler's attempts that did not complete their jobs: what may have arrived is recorded here.
    ///
    /// Inside the finishing transaction, so that the end and the doubt are recorded together or not at all; of an attempt whose end
    /// was not recorded ([`EndedAs::Unrecorded`]) in a transaction of its own, and only if it left a doubt. It may run again with the
    /// same attempts when the transaction has to be repeated.
    ///
    /// # Errors
    /// Whatever the database answers: the transaction is repeated job by job.
    async fn on_ended(&self, _connection: &mut PgConnection, _ended: &[EndedJob]) -> Result<(), sqlx::Error> {
        Ok(())
    }

    /// Whether [`on_completed`](Self::on_completed) or [`on_ended`](Self::on_ended) may enqueue jobs: then this process looks for work once
    /// they are committed. Say no where it never does, and the end of a job asks the database for nothing.
    fn may_enqueue(&self) -> bool {
        true
    }
}

/// The program of those who name none.
pub const DEFAULT_PROGRAM: &str = "main";

/// Which handler does which kind of job, and of which program's lanes: a process claims from no others.
#[derive(Clone)]
pub struct Handlers {
    program: Option<String>,
    default: Arc<dyn AttemptHandler>,
    /// Whether the default one does jobs, or leaves them to others.
    does_all: bool,
    by_job_type: HashMap<String, Arc<dyn AttemptHandler>>,
}

impl Handlers {
    /// One handler for everything in the lanes that are no program's own: `headgate`'s deliveries.
    #[must_use]
    pub fn new(default: Arc<dyn AttemptHandler>) -> Self {
        Self { program: None, default, does_all: true, by_job_type: HashMap::new() }
    }

    /// None yet, for the lanes of the program [`main`](DEFAULT_PROGRAM). A job of a kind nobody registered here is left to a process that
    /// knows it: see [`Unhandled`].
    #[must_use]
    pub fn none() -> Self {
        let unhandled = Self::new(Arc::new(Unhandled::default())).program(DEFAULT_PROGRAM);
        Self { does_all: false, ..unhandled }
    }

    /// For the lanes of this program instead, and no others: [`Runner::program`](crate::Runner::program) says what that is.
    #[must_use]
    pub fn program(self, name: &str) -> Self {
        Self { program: Some(name.to_owned()), ..self }
    }

    /// The program whose lanes they are for; none: `headgate`'s deliveries.
    #[must_use]
    pub fn program_name(&self) -> Option<&str> {
        self.program.as_deref()
    }

    /// The kinds of jobs it has handlers for, sorted; none: it does whatever it claims.
    #[must_use]
    pub fn job_types(&self) -> Option<Vec<String>> {
        let mut job_types: Vec<String> = self.by_job_type.keys().cloned().collect();
        job_types.sort();
        Some(job_types).filter(|_| !self.does_all)
    }

    /// A handler of typed jobs, for its [`Job::JOB_TYPE`]. The last one registered for a type counts.
    #[must_use]
    pub fn handle<J: Job>(self, handler: impl JobHandler<J>) -> Self {
        self.register(J::JOB_TYPE, Arc::new(Typed::new(handler)))
    }

    /// Another one for one kind of job.
    #[must_use]
    pub fn register(mut self, job_type: &str, handler: Arc<dyn AttemptHandler>) -> Self {
        self.by_job_type.insert(job_type.to_owned(), handler);
        self
    }

    /// The handler of a kind of job.
    #[must_use]
    pub fn of(&self, job_type: &str) -> &Arc<dyn AttemptHandler> {
        self.by_job_type.get(job_type).unwrap_or(&self.default)
    }
}
