//! What an external system's answer means (the table of the contract's section 4). Pure: answer in, decision out.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Why a job failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ErrorKind {
    /// Tried again.
    Retryable,
    /// Given up at once.
    NotRetryable,
    /// Given up after the last attempt.
    RetriesExceeded,
    /// The attempt took longer than it may; tried again.
    Timeout,
    /// The processes that did it vanished three times in a row. Of a program's own jobs alone: a delivery is tried again.
    WorkerLost,
    /// Called off: not begun before it expired.
    Expired,
}

impl ErrorKind {
    /// All.
    pub const ALL: [Self; 6] = [
        Self::Retryable,
        Self::NotRetryable,
        Self::RetriesExceeded,
        Self::Timeout,
        Self::WorkerLost,
        Self::Expired,
    ];

    /// As it is written on the wire and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Retryable => "retryable",
            Self::NotRetryable => "not_retryable",
            Self::RetriesExceeded => "retries_exceeded",
            Self::Timeout => "timeout",
            Self::WorkerLost => "worker_lost",
            Self::Expired => "expired",
        }
    }
}

impl std::str::FromStr for ErrorKind {
    type Err = crate::integration::UnknownName;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or(crate::integration::UnknownName)
    }
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// An HTTP response.
    Response {
        /// Its status code.
        status: u16,
        /// Its `Retry-After`, as it was written.
        retry_after: Option<String>,
    },
    /// No response within the attempt's time.
    TimedOut,
    /// No connection, or it broke.
    ConnectionFailed,
    /// The address may not be reached.
    Forbidden,
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The job is done.
    Completed,
    /// Try again, not before `at_least` has passed.
    Retry {
        /// Retryable or timeout.
        kind: ErrorKind,
        /// What `Retry-After` asks for, capped at 24 h.
        at_least: Option<Duration>,
        /// 429: nothing may be sent to this integration until then.
        holds_integration: bool,
    },
    /// A dead letter at once.
    GiveUp {
        /// 410: the integration is paused too.
        pauses_integration: bool,
    },
}

/// The longest `Retry-After` that is honoured.
pub const RETRY_AFTER_CAP: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a 429 without `Retry-After` holds the integration.
pub const HOLD_WITHOUT_RETRY_AFTER: Duration = Duration::from_secs(1);

/// Judges an answer.
#[must_use]
pub fn judge(answer: &Answer, now: DateTime<Utc>) -> Verdict {
    let retry = |kind, at_least, holds_integration| Verdict::Retry { kind, at_least, holds_integration };
    match answer {
        Answer::TimedOut => retry(ErrorKind::Timeout, None, false),
        Answer::ConnectionFailed => retry(ErrorKind::Retryable, None, false),
        Answer::Forbidden => Verdict::GiveUp { pauses_integration: false },
        Answer::Response { status, retry_after } => {
            let asked = || retry_after.as_deref().and_then(|text| parse_retry_after(text, now));
            match status {
                200..=299 => Verdict::Completed,
                429 => retry(ErrorKind::Retryable, Some(asked().unwrap_or(HOLD_WITHOUT_RETRY_AFTER)), true),
                408 | 425 | 500..=599 => retry(ErrorKind::Retryable, asked(), false),
                410 => Verdict::GiveUp { pauses_integration: true },
                // 3xx is never followed; everything else says that the request itself is wrong.
                _ => Verdict::GiveUp { pauses_integration: false },
            }
        }
    }
}

/// `Retry-After` as RFC 9110 10.2.3 writes it: seconds, or an HTTP date. Capped at 24 h; a date in the past asks for nothing.
fn parse_retry_after(text: &str, now: DateTime<Utc>) -> Option<Duration> {
    let text = text.trim();
    let asked = if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        // More digits than a u64 holds ask for more than the cap.
        Duration::from_secs(text.parse().unwrap_or(u64::MAX))
    } else {
        let at = DateTime::<Utc>::from(httpdate::parse_http_date(text).ok()?);
        (at - now).to_std().unwrap_or(Duration::ZERO)
    };
    Some(asked.min(RETRY_AFTER_CAP))
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
    fn every_row_of_the_contracts_table() {
        let retry = |seconds: Option<u64>, holds_integration| Verdict::Retry {
            kind: ErrorKind::Retryable,
            at_least: seconds.map(Duration::from_secs),
            holds_integration,
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
    fn no_answer_is_judged_too() {
        let retry = |kind| Verdict::Retry { kind, at_least: None, holds_integration: false };
        assert_eq!(judge(&Answer::TimedOut, now()), retry(ErrorKind::Timeout));
        assert_eq!(judge(&Answer::ConnectionFailed, now()), retry(ErrorKind::Retryable));
        assert_eq!(judge(&Answer::Forbidden, now()), Verdict::GiveUp { pauses_integration: false });
    }
}
