//! What a failure means in plain words, and what helps: for whoever has to tell a customer.

use super::verdict::ErrorKind;

/// A cause in words.
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

/// The words for an error: by what was answered, else by what the error says.
#[must_use]
pub fn of(kind: ErrorKind, response_status: Option<i16>, error: &str) -> CauseWords {
    match (kind, response_status) {
        (ErrorKind::WorkerLost, _) => words(
            "The process that sent it ended in the middle",
            "Look for crashes or too little memory on the workers' hosts, then retry.",
        ),
        (_, Some(status)) => by_status(status),
        (ErrorKind::Timeout, None) => NO_ANSWER,
        (_, None) => by_text(&error.to_lowercase()),
    }
}

const NO_ANSWER: CauseWords = words(
    "Their system did not answer in time",
    "It is tried again by itself. If it stays: ask them about load, or allow a longer time-out.",
);

fn by_status(status: i16) -> CauseWords {
    match status {
        300..=399 => words(
            "Their system sends us to another address",
            "Redirects are not followed: set the integration's address to the new one, then retry.",
        ),
        401 | 403 => words(
            "Their system does not accept our credentials",
            "Ask them for valid credentials, set them on the integration, then retry.",
        ),
        404 | 405 => {
            words("The address is not known there", "Check the integration's address with them, then retry.")
        }
        408 | 504 => NO_ANSWER,
        409 => {
            words("Their data contradicts ours", "Compare the record with theirs; a re-sync sends it whole.")
        }
        410 => words(
            "They have closed this address for good",
            "The integration was paused. Set a new address or delete it; nothing is sent before.",
        ),
        413 => words(
            "What we send is too large for them",
            "Ask them to accept larger requests, or send fewer attributes.",
        ),
        429 => words(
            "They ask us to send less",
            "It is tried again when they allow it. If it stays: lower the rate limit here.",
        ),
        400..=499 => words(
            "Their system refuses what we send",
            "The data has to change: correct the record at its source, or ask them what they expect.",
        ),
        503 => words(
            "Their system is down or overloaded",
            "It is tried again by itself. Retry the group once they are back.",
        ),
        500..=599 => words(
            "Their system failed while handling it",
            "It is tried again by itself. If it stays: send them an example of a failed request.",
        ),
        _ => words("Their answer makes no sense to us", "Send them an example of a failed request."),
    }
}

fn by_text(error: &str) -> CauseWords {
    let says = |parts: &[&str]| parts.iter().any(|part| error.contains(part));
    if says(&["no answer within", "timed out", "timeout"]) {
        NO_ANSWER
    } else if says(&["dns", "lookup", "resolve", "no such host"]) {
        words(
            "The name of their server is not known",
            "Check the integration's address, or ask them about their DNS.",
        )
    } else if says(&["certificate", "tls", "ssl", "handshake"]) {
        words(
            "Their server cannot prove who it is",
            "Ask them to renew their certificate; nothing is sent until it is valid.",
        )
    } else if says(&["refused", "no connection", "unreachable", "connection", "connect"]) {
        words(
            "Their server cannot be reached",
            "It is tried again by itself. If it stays: ask them whether it runs, and whether a firewall is between.",
        )
    } else if says(&["not allowed", "address", "private"]) {
        words(
            "We do not send to this address",
            "Set a public address, or allow this one in the deployment's settings, then retry.",
        )
    } else {
        words("The attempt failed", "Read the error of one of its jobs; retry once its cause is mended.")
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
            (Retryable, Some(429), "answered 429", "They ask us to send less"),
            (NotRetryable, Some(401), "answered 401", "Their system does not accept our credentials"),
            (NotRetryable, Some(422), "answered 422: price", "Their system refuses what we send"),
            (Timeout, None, "no answer within 30 s", "Their system did not answer in time"),
            (Retryable, None, "No connection: dns error", "The name of their server is not known"),
            (Retryable, None, "Connection refused", "Their server cannot be reached"),
            (WorkerLost, None, "The worker vanished.", "The process that sent it ended in the middle"),
            (NotRetryable, None, "out of cheese", "The attempt failed"),
        ] {
            let words = of(kind, status, error);
            assert_eq!(words.cause, cause, "{error}");
            assert!(words.remedy.ends_with('.'), "{error}");
        }
    }
}
