//! How a job fails.

use crate::worker::{Failure, HeldJob, Outcome};
use model::{
    rules::verdict::{ErrorKind, Verdict},
    text::causes,
};
use std::{error::Error, fmt, time::Duration};

/// Why an attempt failed, and what follows.
///
/// Any error becomes one by `?`, and is *retryable*: tried again as the schedule says, a dead letter after the last attempt
/// (`retries_exceeded`). Say so where trying again is of no use ([`not_retryable`](Self::not_retryable): a dead letter at once), where it
/// is of no use yet ([`after`](Self::after)), and where nothing is wrong and it is only too early ([`snooze`](Self::snooze)). What is wrong
/// with an attempt beyond that, the engine says by itself: `timeout`, a panic (retryable), `worker_lost`, `expired`.
///
/// ```
/// # use queue::{JobError, OrJobError};
/// # use std::time::Duration;
/// fn price(text: &str) -> Result<u32, JobError> {
///     if text.is_empty() {
///         return Err(JobError::snooze(Duration::from_secs(60)));
///     }
///     let cents: u32 = text.parse().not_retryable()?;
///     std::fs::read_to_string("/dev/null")?; // any error: tried again
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
    /// Tried again, as the retry schedule says. The message is for people; 2,000 characters of it are kept.
    #[must_use]
    pub fn retryable(message: impl fmt::Display) -> Self {
        Self { kind: Kind::Retryable { after: None }, message: message.to_string() }
    }

    /// Never tried again by itself: a dead letter at once, from where it can be requeued by hand.
    #[must_use]
    pub fn not_retryable(message: impl fmt::Display) -> Self {
        Self { kind: Kind::NotRetryable, message: message.to_string() }
    }

    /// Not yet: the job goes back for this long (at most 24 h), and the attempt is not counted. It may be snoozed without end; give it an
    /// `expires_at` where that would be wrong.
    #[must_use]
    pub fn snooze(wait: Duration) -> Self {
        Self { kind: Kind::Snooze { wait }, message: String::new() }
    }

    /// Tried again, and not before this has passed (at most 24 h); the schedule's wait counts when it is longer.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        Self { kind: Kind::Retryable { after: Some(wait) }, ..self }
    }

    /// What comes of an attempt that ended so.
    pub(crate) fn into_outcome(self, job: &HeldJob) -> Outcome {
        let verdict = match self.kind {
            Kind::Snooze { wait } => {
                let wait = wait.min(model::rules::backoff::LONGEST);
                return Outcome::Released { until: job.time_in(wait) };
            }
            Kind::NotRetryable => Verdict::GiveUp { pauses_integration: false },
            Kind::Retryable { after } => {
                Verdict::Retry { kind: ErrorKind::Retryable, at_least: after, holds_integration: false }
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
    /// Retryable, with the whole chain of causes in the message.
    fn from(error: E) -> Self {
        Self::retryable(causes(&*error.into()))
    }
}

// Not an `Error` itself, or the conversion above could not be: a handler answers it, and nobody else has one.
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

/// Says what follows from an error, right where it is: `parse(text).not_retryable()?`.
pub trait OrJobError<T> {
    /// [`JobError::not_retryable`]
    ///
    /// # Errors
    /// Whenever the result is one.
    fn not_retryable(self) -> Result<T, JobError>;

    /// [`JobError::after`]
    ///
    /// # Errors
    /// Whenever the result is one.
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
