//! The error of a handler.

use crate::worker::{Failure, LeasedJob, Outcome};
use model::rules::verdict::{ErrorKind, Verdict};
use model::text::causes;
use std::{error::Error, fmt, time::Duration};

/// Why an attempt failed, and what follows.
///
/// `?` turns any error into a *retryable* one: the job is retried after the schedule's wait, and is a dead letter after the last attempt
/// (`retries_exceeded`). Use [`not_retryable`](Self::not_retryable) where a retry cannot help (a dead letter at once), [`after`](Self::after) where
/// it cannot help yet, and [`snooze`](Self::snooze) where nothing is wrong and it is only too early. The engine itself adds `timeout`, panics
/// (retryable), `worker_lost` and `expired`.
///
/// ```
/// # use queue::{JobError, OrJobError};
/// # use std::time::Duration;
/// fn price(text: &str) -> Result<u32, JobError> {
///     if text.is_empty() {
///         return Err(JobError::snooze(Duration::from_secs(60)));
///     }
///     let cents: u32 = text.parse().not_retryable()?;
///     std::fs::read_to_string("/dev/null")?; // any error: retried
///     Ok(cents)
/// }
/// ```
pub struct JobError {
    kind: Kind,
    message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Retryable { after: Option<Duration> },
    NotRetryable,
    Snooze { wait: Duration },
}

impl JobError {
    /// The job is retried after the wait of its retry schedule. The message is for people; 2,000 characters of it are kept.
    #[must_use]
    pub fn retryable(message: impl fmt::Display) -> Self {
        Self { kind: Kind::Retryable { after: None }, message: message.to_string() }
    }

    /// The job becomes a dead letter at once, which operators can requeue.
    #[must_use]
    pub fn not_retryable(message: impl fmt::Display) -> Self {
        Self { kind: Kind::NotRetryable, message: message.to_string() }
    }

    /// The job is released for this long (at most 24 h), and the attempt does not count. It can be snoozed without end; set an `expires_at` to
    /// prevent that.
    #[must_use]
    pub fn snooze(wait: Duration) -> Self {
        Self { kind: Kind::Snooze { wait }, message: String::new() }
    }

    /// The job is retried, but not before this has passed (at most 24 h); the schedule's wait counts if it is longer.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        Self { kind: Kind::Retryable { after: Some(wait) }, ..self }
    }

    pub(crate) fn into_outcome(self, job: &LeasedJob) -> Outcome {
        let verdict = match self.kind {
            Kind::Snooze { wait } => {
                let wait = wait.min(model::rules::backoff::MAX_WAIT);
                return Outcome::Released { until: job.time_in(wait) };
            }
            Kind::NotRetryable => Verdict::GiveUp { pauses_integration: false },
            Kind::Retryable { after } => {
                Verdict::Retry { kind: ErrorKind::Retryable, at_least: after, quiets_integration: false }
            }
        };
        Outcome::Failed {
            error: Failure {
                verdict,
                message: self.message,
                response: None,
                sent_body: None,
                exchange: None,
            },
        }
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for JobError {
    /// Retryable; the message has the whole chain of causes.
    fn from(error: E) -> Self {
        Self::retryable(causes(&*error.into()))
    }
}

// It does not implement `Error`, which would conflict with the blanket conversion above. Only handlers return it.
impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Snooze { wait } => write!(f, "not for {wait:?}"),
            Kind::Retryable { .. } | Kind::NotRetryable => f.write_str(&self.message),
        }
    }
}

impl fmt::Debug for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobError").field("kind", &self.kind).field("message", &self.message).finish()
    }
}

/// Turns the error of a result into a [`JobError`], with what follows from it: `parse(text).not_retryable()?`.
pub trait OrJobError<T> {
    /// As [`JobError::not_retryable`].
    fn not_retryable(self) -> Result<T, JobError>;

    /// As [`JobError::after`].
    fn retry_after(self, wait: Duration) -> Result<T, JobError>;
}

impl<T, E: Into<JobError>> OrJobError<T> for Result<T, E> {
    fn not_retryable(self) -> Result<T, JobError> {
        self.map_err(|error| JobError { kind: Kind::NotRetryable, ..error.into() })
    }

    fn retry_after(self, wait: Duration) -> Result<T, JobError> {
        self.map_err(|error| error.into().after(wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<u8, JobError> {
        Ok(text.parse::<u8>()?)
    }

    #[test]
    fn any_error_is_retryable_until_the_handler_says_otherwise() {
        let minute = Duration::from_secs(60);
        for (error, kind, message) in [
            (parsed("x").unwrap_err(), Kind::Retryable { after: None }, "invalid digit found in string"),
            (JobError::from("out of paper"), Kind::Retryable { after: None }, "out of paper"),
            (format!("{} jams", 2).into(), Kind::Retryable { after: None }, "2 jams"),
            (
                "x".parse::<u8>().not_retryable().unwrap_err(),
                Kind::NotRetryable,
                "invalid digit found in string",
            ),
            (
                parsed("999").not_retryable().unwrap_err(),
                Kind::NotRetryable,
                "number too large to fit in target type",
            ),
            (
                parsed("x").retry_after(minute).unwrap_err(),
                Kind::Retryable { after: Some(minute) },
                "invalid digit found in string",
            ),
            (JobError::not_retryable("gone"), Kind::NotRetryable, "gone"),
            (JobError::snooze(minute), Kind::Snooze { wait: minute }, "not for 60s"),
        ] {
            assert_eq!((error.kind, error.to_string().as_str()), (kind, message));
        }
    }
}
