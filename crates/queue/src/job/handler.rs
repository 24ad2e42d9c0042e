//! The trait of typed handlers, and its adapter to the engine's.

use crate::worker::{AttemptHandler, CompletedJob, Completion, Handlers, LeasedJob, Outcome, Slot};
use crate::{Job, JobError};
use async_trait::async_trait;
use serde::Serialize;
use serde_json::Value;
use sqlx::PgConnection;
use std::{any::Any, future::ready, marker::PhantomData, sync::Arc};

/// A larger result, as JSON text, is not kept.
const MAX_RESULT_BYTES: usize = model::json::MAX_RECORD_BYTES;

/// Does jobs of one kind.
///
/// Write `run` as an `async fn`. Its dependencies (a pool, a client) are fields of the implementing type, which may implement the trait for several
/// kinds of job. Register it with [`Runner::handle`](crate::Runner::handle).
///
/// ```
/// # use queue::{LeasedJob, Job, JobError, JobHandler};
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Serialize, Deserialize)] struct GenerateInvoice { order_id: u64 }
/// # impl Job for GenerateInvoice { const JOB_TYPE: &'static str = "invoice.generate"; }
/// struct Invoicing {
///     pool: sqlx::PgPool,
/// }
///
/// impl JobHandler<GenerateInvoice> for Invoicing {
///     type Output = String;
///
///     async fn run(&self, order: GenerateInvoice, job: &LeasedJob) -> Result<String, JobError> {
///         let rows: Vec<String> = sqlx::query_scalar("select name from order_lines where order_id = $1")
///             .bind(order.order_id as i64)
///             .fetch_all(&self.pool)
///             .await?;
///         for (at, row) in rows.iter().enumerate() {
///             job.progress(at as u64, rows.len() as u64, row)?;
///         }
///         Ok(format!("INV-{}", order.order_id))
///     }
/// }
/// ```
///
/// # Guarantees
///
/// A job is done *at least once*: if its process dies in the middle, another starts it again. So either make it harmless to do twice, or write
/// to this database in [`on_completed`](Self::on_completed), which takes effect exactly once.
///
/// The future is dropped at its next `await` when its time-out has passed ([`LeasedJob::timeout`]), when the job is cancelled, when the lease is
/// lost, and when a shutdown's grace time is over. Blocking work belongs into `tokio::task::spawn_blocking`, where it learns of the end through
/// [`LeasedJob::progress_handle`]. A panic is a failed attempt.
pub trait JobHandler<J: Job>: Send + Sync + 'static {
    /// What a job produces, kept as JSON with the finished job (`result`); `()` for nothing. An output that is larger than 1 MB or cannot be stored
    /// is left out with a warning; the job completes all the same.
    type Output: Serialize + Send + Sync + 'static;

    /// Makes one attempt. In a lane with a rate limit it is called once the job has a slot.
    fn run(&self, payload: J, job: &LeasedJob)
    -> impl Future<Output = Result<Self::Output, JobError>> + Send;

    /// Writes to this database in the transaction that ends the job: both are stored or neither, and nothing of an attempt that lost its lease.
    /// Keep it to a few short statements: one transaction may end hundreds of jobs, and when it has to be repeated this is called again with the
    /// same job. The database rolls the transaction back after idling for five seconds, so anything slower, such as a request to another system,
    /// belongs into `run`.
    ///
    /// If it returns an error, or lets the transaction idle for too long five times, the attempt has failed and is retried like any other, up to
    /// `max_attempts`. The job's error says which.
    fn on_completed(
        &self,
        _connection: &mut PgConnection,
        _job: &CompletedJob,
        _output: &Self::Output,
    ) -> impl Future<Output = Result<(), sqlx::Error>> + Send {
        ready(Ok(()))
    }
}

/// Adapts a typed handler to the engine's trait.
struct Typed<J, H> {
    handler: H,
    of: PhantomData<fn(J)>,
}

// Here and not in the registry, so that the engine knows nothing of typed jobs.
impl Handlers {
    /// Registers a typed handler for its [`Job::JOB_TYPE`]. The last one registered for a type counts.
    #[must_use]
    pub fn handle<J: Job>(self, handler: impl JobHandler<J>) -> Self {
        self.register(J::JOB_TYPE, Arc::new(Typed { handler, of: PhantomData }))
    }
}

#[async_trait]
impl<J: Job, H: JobHandler<J>> AttemptHandler for Typed<J, H> {
    async fn run(&self, job: &LeasedJob) -> Outcome {
        let payload = match payload::<J>(job.payload.as_ref()) {
            Ok(payload) => payload,
            Err(error) => return error.into_outcome(job),
        };
        if let Slot::Later(until) = job.slot().await {
            return Outcome::Released { until };
        }
        match self.handler.run(payload, job).await {
            Ok(output) => {
                let result = result(&output, job);
                Outcome::Completed {
                    how: Completion::Done,
                    response: None,
                    result,
                    receipt: Some(Box::new(output)),
                }
            }
            Err(error) => error.into_outcome(job),
        }
    }

    async fn on_completed(
        &self,
        connection: &mut PgConnection,
        done: &[CompletedJob],
    ) -> Result<(), sqlx::Error> {
        for job in done {
            let output: Option<&(dyn Any + Send + Sync)> = job.receipt.as_deref();
            if let Some(output) = output.and_then(|output| output.downcast_ref::<H::Output>()) {
                self.handler.on_completed(&mut *connection, job, output).await?;
            }
        }
        Ok(())
    }
}

/// Parses the payload. A payload that does not parse never will, so the error is not retryable; its message names the place.
pub(crate) fn payload<J: Job>(stored: Option<&Value>) -> Result<J, JobError> {
    serde_path_to_error::deserialize(stored.unwrap_or(&Value::Null)).map_err(|error| {
        let at = error.path().to_string();
        let place = if at == "." { "the payload".to_owned() } else { format!("the payload, at {at}") };
        JobError::not_retryable(format_args!(
            "{place}, is not what a job of type {} is made with: {}",
            J::JOB_TYPE,
            error.inner()
        ))
    })
}

/// The result as JSON; none, with a warning, if it cannot be kept.
fn result<R: Serialize>(output: &R, job: &LeasedJob) -> Option<Value> {
    let why = match serde_json::to_value(output) {
        Ok(Value::Null) => return None,
        Ok(value) => match model::json::check(&value) {
            Ok(()) => {
                let bytes = value.to_string().len();
                if bytes <= MAX_RESULT_BYTES {
                    return Some(value);
                }
                format!("it is {bytes} bytes of JSON")
            }
            Err(fault) => format!("{} {}", fault.pointer, fault.detail),
        },
        Err(error) => error.to_string(),
    };
    tracing::warn!(job.id = %job.id, job.type = %job.job_type, why, "the result of job {} is not kept", job.id);
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Debug, Serialize, Deserialize)]
    struct Print {
        pages: Vec<u8>,
    }
    impl Job for Print {
        const JOB_TYPE: &'static str = "print";
    }

    #[test]
    fn the_error_of_a_payload_names_the_place() {
        assert_eq!(payload::<Print>(Some(&json!({"pages": [1, 2]}))).unwrap().pages, [1, 2]);
        for (stored, says) in [
            (
                Some(json!({"pages": [1, "x"]})),
                "the payload, at pages[1], is not what a job of type print is made with: ",
            ),
            (Some(json!({})), "missing field `pages`"),
            (None, "the payload, is not what a job of type print is made with: invalid type: null"),
        ] {
            let error = payload::<Print>(stored.as_ref()).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
