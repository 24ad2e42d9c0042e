//! What a failure means in plain words, and what helps: for people who have to explain it to an app.

use super::verdict::ErrorKind;
use crate::duration;
use std::time::Duration;

/// A cause in plain words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CauseWords {
    /// What happened.
    pub cause: &'static str,
    /// What helps.
    pub remedy: &'static str,
}

const fn words(cause: &'static str, remedy: &'static str) -> CauseWords {
    CauseWords { cause, remedy }
}

/// The error of an attempt whose time is over, whoever notices it first: one text, so that it is one cause.
#[must_use]
pub fn no_answer_within(limit: Duration) -> String {
    format!("no answer within {}", duration::words(limit))
}

/// The words for an error: by its HTTP status, or else by its text.
#[must_use]
pub fn of(kind: ErrorKind, response_status: Option<i16>, error: &str) -> CauseWords {
    match (kind, response_status) {
        (ErrorKind::WorkerLost, _) => words(
            "The process that sent it died",
            "Look for crashes or a lack of memory on the workers' hosts, then retry.",
        ),
        (_, Some(status)) => by_status(status),
        (ErrorKind::Timeout, None) => NO_ANSWER,
        (_, None) => by_text(&error.to_lowercase()),
    }
}

const NO_ANSWER: CauseWords = words(
    "Their system did not answer in time",
    "Retried automatically. If it persists: ask them about load, or set a longer timeout.",
);

fn by_status(status: i16) -> CauseWords {
    match status {
        300..=399 => words(
            "Their system redirects to another URL",
            "Redirects are not followed: set the integration's URL to the new one, then retry.",
        ),
        401 | 403 => words(
            "Their system does not accept our credentials",
            "Ask them for valid credentials, set them on the integration, then retry.",
        ),
        404 | 405 => {
            words("Their system does not know the URL", "Check the integration's URL with them, then retry.")
        }
        408 | 504 => NO_ANSWER,
        409 => words(
            "Their data conflicts with ours",
            "Compare the record with theirs; a re-sync sends it completely.",
        ),
        410 => words(
            "They have closed this URL for good",
            "The integration was paused. Set a new URL, or delete the integration; nothing is sent before.",
        ),
        413 => words(
            "What we send is too large for them",
            "Ask them to accept larger requests, or send fewer attributes.",
        ),
        429 => words(
            "They limit the number of requests",
            "Retried automatically when they allow it. If it persists: lower the rate limit here.",
        ),
        400..=499 => words(
            "Their system refuses what we send",
            "The data has to change: correct the record at its source, or ask them what they expect.",
        ),
        503 => words(
            "Their system is down or overloaded",
            "Retried automatically. Retry the group once they are back.",
        ),
        500..=599 => words(
            "Their system failed while handling it",
            "Retried automatically. If it persists: send them an example of a failed request.",
        ),
        _ => words("Their answer has an invalid status", "Send them an example of a failed request."),
    }
}

fn by_text(error: &str) -> CauseWords {
    let says = |parts: &[&str]| parts.iter().any(|part| error.contains(part));
    if says(&["no answer within", "timed out", "timeout"]) {
        NO_ANSWER
    } else if says(&["dns", "lookup", "resolve", "no such host"]) {
        words(
            "The name of their server cannot be resolved",
            "Check the integration's URL, or ask them about their DNS.",
        )
    } else if says(&["certificate", "tls", "ssl", "handshake"]) {
        words(
            "The certificate of their server is not valid",
            "Ask them to renew it; nothing is sent until it is valid.",
        )
    } else if says(&["refused", "no connection", "unreachable", "connection", "connect"]) {
        words(
            "Their server cannot be reached",
            "Retried automatically. If it persists: ask them whether it is running, and whether a firewall blocks us.",
        )
    } else if says(&["not allowed", "address", "private"]) {
        words(
            "Sending to this address is not allowed",
            "Set a public address, or allow this one in the deployment's settings, then retry.",
        )
    } else {
        words("The attempt failed", "Read the error of one of its jobs; retry once its cause is fixed.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_has_words_and_a_remedy() {
        use ErrorKind::{NotRetryable, Retryable, Timeout, WorkerLost};
        for (kind, status, error, cause) in [
            (Retryable, Some(503), "answered 503", "Their system is down or overloaded"),
            (Retryable, Some(500), "answered 500", "Their system failed while handling it"),
            (Retryable, Some(429), "answered 429", "They limit the number of requests"),
            (NotRetryable, Some(401), "answered 401", "Their system does not accept our credentials"),
            (NotRetryable, Some(422), "answered 422: price", "Their system refuses what we send"),
            (Timeout, None, "no answer within 30 s", "Their system did not answer in time"),
            (Retryable, None, "No connection: dns error", "The name of their server cannot be resolved"),
            (Retryable, None, "Connection refused", "Their server cannot be reached"),
            (WorkerLost, None, "The worker vanished.", "The process that sent it died"),
            (NotRetryable, None, "out of cheese", "The attempt failed"),
        ] {
            let words = of(kind, status, error);
            assert_eq!(words.cause, cause, "{error}");
            assert!(words.remedy.ends_with('.'), "{error}");
        }
        assert_eq!(of(Retryable, None, &no_answer_within(Duration::from_millis(1_500))), NO_ANSWER);
    }
}
