//! What follows a failed attempt.

use crate::store::jobs::{Ending, Failure};
use crate::worker::judge::Waits;
use model::attempt::AttemptOutcome;
use model::rules::verdict::{ErrorKind, Verdict};
use model::text::grouped;
use std::time::Duration;

/// A failure found by the engine itself.
pub(crate) fn failure(kind: ErrorKind, message: String) -> Failure {
    let verdict = Verdict::Retry { kind, at_least: None, quiets_integration: false };
    Failure { verdict, message, response: None, sent_body: None, exchange: None }
}

/// A retry after the schedule's wait, or a dead letter: at once, or after the last attempt.
pub(crate) fn ending_of_failure(
    waits: &Waits,
    attempt: i16,
    max_attempts: i16,
    failure: Failure,
    random: f64,
) -> Ending {
    let Verdict::Retry { kind, .. } = failure.verdict else {
        return Ending::Dead {
            failure,
            attempt_outcome: AttemptOutcome::Failed,
            kind: ErrorKind::NotRetryable,
        };
    };
    let attempt_outcome =
        if kind == ErrorKind::Timeout { AttemptOutcome::TimedOut } else { AttemptOutcome::Failed };
    if attempt >= max_attempts {
        return Ending::Dead { failure, attempt_outcome, kind: ErrorKind::RetriesExceeded };
    }
    let (wait, wait_reason) = wait_after(waits, attempt, &failure, random);
    Ending::Retried { failure, attempt_outcome, wait, wait_reason }
}

/// The wait before a retry, and its reason.
pub(crate) fn wait_after(waits: &Waits, attempt: i16, failure: &Failure, random: f64) -> (Duration, String) {
    let Waits { backoff, source } = waits;
    let at_least = match failure.verdict {
        Verdict::Retry { at_least, .. } => at_least.filter(|asked| !asked.is_zero()),
        Verdict::GiveUp { .. } | Verdict::Completed => None,
    };
    let wait = backoff.wait(attempt, at_least, random);
    match at_least {
        Some(asked) if wait >= asked && wait > backoff.wait(attempt, None, random) => {
            let who = if failure.response.is_some() { "their Retry-After" } else { "the handler" };
            let seconds = grouped(i64::try_from(asked.as_secs()).unwrap_or(i64::MAX));
            (wait, format!("{who} asked for {seconds} s"))
        }
        _ => (wait, backoff.in_words(attempt, source)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::rules::backoff::Backoff;

    fn failed_as(verdict: Verdict) -> Failure {
        Failure { verdict, message: "x".into(), response: None, sent_body: None, exchange: None }
    }

    #[test]
    fn a_failure_is_retried_until_the_last_attempt() {
        let retry = |kind, seconds: Option<u64>| Verdict::Retry {
            kind,
            at_least: seconds.map(Duration::from_secs),
            quiets_integration: false,
        };
        let backoff = Backoff { jitter: 0.0, ..Backoff::default() };
        let waits = Waits { backoff, source: "the retry schedule" };
        for (verdict, attempt, ends_as) in [
            (retry(ErrorKind::Retryable, None), 2, "retried 10s failed step 2 of the retry schedule"),
            (retry(ErrorKind::Timeout, None), 2, "retried 10s timed_out step 2 of the retry schedule"),
            (retry(ErrorKind::Retryable, Some(99)), 2, "retried 99s failed the handler asked for 99 s"),
            (retry(ErrorKind::Retryable, Some(1)), 2, "retried 10s failed step 2 of the retry schedule"),
            (retry(ErrorKind::Retryable, None), 10, "dead retries_exceeded failed"),
            (retry(ErrorKind::Timeout, None), 10, "dead retries_exceeded timed_out"),
            (Verdict::GiveUp { pauses_integration: false }, 1, "dead not_retryable failed"),
        ] {
            let ending = match ending_of_failure(&waits, attempt, 10, failed_as(verdict), 0.5) {
                Ending::Retried { attempt_outcome, wait, wait_reason, .. } => {
                    format!("retried {wait:?} {} {wait_reason}", attempt_outcome.as_str())
                }
                Ending::Dead { attempt_outcome, kind, .. } => {
                    format!("dead {} {}", kind.as_str(), attempt_outcome.as_str())
                }
                other => format!("{other:?}"),
            };
            assert_eq!(ending, ends_as, "{verdict:?}");
        }
    }
}
