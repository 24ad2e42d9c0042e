//! What an external system's answer means for a job.

use crate::unknown_name::UnknownName;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use strum::{EnumString, IntoStaticStr, VariantArray};

/// Why a job failed.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "snake_case", parse_err_ty = UnknownName, parse_err_fn = UnknownName::of)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ErrorKind {
    /// It is retried.
    Retryable,
    /// Dead-lettered at once.
    NotRetryable,
    /// Dead-lettered after the last attempt.
    RetriesExceeded,
    /// The attempt exceeded its time limit; it is retried.
    Timeout,
    /// Its lease was lost three times in a row. Only for a program's own jobs: deliveries are retried.
    WorkerLost,
    /// Cancelled because it expired before it began.
    Expired,
}

impl ErrorKind {
    /// All.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// As it is written on the wire and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// What an attempt got as an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// An HTTP response.
    Response {
        /// Its status code.
        status: u16,
        /// Its `Retry-After` header, unparsed.
        retry_after: Option<String>,
    },
    /// No response within the attempt's time limit.
    TimedOut,
    /// No connection, or it broke.
    ConnectionFailed,
    /// Sending to the address is not allowed.
    Forbidden,
}

/// What follows for the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The job is done.
    Completed,
    /// Retry, no sooner than after `at_least`.
    Retry {
        /// Retryable or timeout.
        kind: ErrorKind,
        /// What `Retry-After` asks for, capped at 24 h.
        at_least: Option<Duration>,
        /// 429: nothing may be sent to this integration until then.
        quiets_integration: bool,
    },
    /// A dead letter at once.
    GiveUp {
        /// 410: the integration is paused too.
        pauses_integration: bool,
    },
}

/// A longer `Retry-After` is shortened to this.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(24 * 60 * 60);
/// How long the integration is quiet after a 429 without `Retry-After`.
pub const QUIET_WITHOUT_RETRY_AFTER: Duration = Duration::from_secs(1);

/// Decides what an answer means.
#[must_use]
pub fn judge(answer: &Answer, now: DateTime<Utc>) -> Verdict {
    let retry = |kind, at_least, quiets_integration| Verdict::Retry { kind, at_least, quiets_integration };
    match answer {
        Answer::TimedOut => retry(ErrorKind::Timeout, None, false),
        Answer::ConnectionFailed => retry(ErrorKind::Retryable, None, false),
        Answer::Forbidden => Verdict::GiveUp { pauses_integration: false },
        Answer::Response { status, retry_after } => {
            let asked = || retry_after.as_deref().and_then(|text| parse_retry_after(text, now));
            match status {
                200..=299 => Verdict::Completed,
                429 => retry(ErrorKind::Retryable, Some(asked().unwrap_or(QUIET_WITHOUT_RETRY_AFTER)), true),
                408 | 425 | 500..=599 => retry(ErrorKind::Retryable, asked(), false),
                410 => Verdict::GiveUp { pauses_integration: true },
                // Redirects are never followed; everything else means that the request itself is wrong.
                _ => Verdict::GiveUp { pauses_integration: false },
            }
        }
    }
}

/// Parses `Retry-After` (RFC 9110, 10.2.3): seconds, or an HTTP date. At most 24 h; a date in the past is zero.
fn parse_retry_after(text: &str, now: DateTime<Utc>) -> Option<Duration> {
    let text = text.trim();
    let asked = if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        // More digits than fit into a u64 exceed the maximum.
        Duration::from_secs(text.parse().unwrap_or(u64::MAX))
    } else {
        let at = DateTime::<Utc>::from(httpdate::parse_http_date(text).ok()?);
        (at - now).to_std().unwrap_or(Duration::ZERO)
    };
    Some(asked.min(MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> DateTime<Utc> {
        "2026-11-20T12:00:00Z".parse().unwrap()
    }

    fn answered(status: u16, retry_after: Option<&str>) -> Verdict {
        judge(&Answer::Response { status, retry_after: retry_after.map(str::to_owned) }, now())
    }

    #[test]
    fn each_status_has_its_verdict() {
        let retry = |seconds: Option<u64>, quiets_integration| Verdict::Retry {
            kind: ErrorKind::Retryable,
            at_least: seconds.map(Duration::from_secs),
            quiets_integration,
        };
        for (status, retry_after, verdict) in [
            (200, None, Verdict::Completed),
            (204, None, Verdict::Completed),
            (299, Some("9"), Verdict::Completed),
            (408, None, retry(None, false)),
            (425, None, retry(None, false)),
            (429, None, retry(Some(1), true)),
            (429, Some("7"), retry(Some(7), true)),
            (500, None, retry(None, false)),
            (503, Some("120"), retry(Some(120), false)),
            (503, Some("Fri, 20 Nov 2026 12:00:30 GMT"), retry(Some(30), false)),
            (503, Some("Fri, 20 Nov 2026 11:00:00 GMT"), retry(Some(0), false)),
            (503, Some("99999999999999999999999"), retry(Some(86_400), false)),
            (503, Some("-5"), retry(None, false)),
            (503, Some("soon"), retry(None, false)),
            (599, None, retry(None, false)),
            (410, None, Verdict::GiveUp { pauses_integration: true }),
            (400, None, Verdict::GiveUp { pauses_integration: false }),
            (404, None, Verdict::GiveUp { pauses_integration: false }),
            (301, None, Verdict::GiveUp { pauses_integration: false }),
            (304, None, Verdict::GiveUp { pauses_integration: false }),
            (101, None, Verdict::GiveUp { pauses_integration: false }),
        ] {
            assert_eq!(answered(status, retry_after), verdict, "{status} {retry_after:?}");
        }
    }

    #[test]
    fn a_missing_answer_has_a_verdict_too() {
        let retry = |kind| Verdict::Retry { kind, at_least: None, quiets_integration: false };
        assert_eq!(judge(&Answer::TimedOut, now()), retry(ErrorKind::Timeout));
        assert_eq!(judge(&Answer::ConnectionFailed, now()), retry(ErrorKind::Retryable));
        assert_eq!(judge(&Answer::Forbidden, now()), Verdict::GiveUp { pauses_integration: false });
    }
}
