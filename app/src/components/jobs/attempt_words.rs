//! An attempt in words: what came back, what the answer said, why the next one waits.

use crate::format;
use model::attempt::{Attempt, AttemptOutcome};
use model::text::sanitise;

/// How much of an answer is quoted when all of it is shown further down.
const SHORT_CHARS: usize = 200;

pub fn headline(attempt: &Attempt) -> String {
    if let Some(status) = attempt.response_status {
        return format!("{status} {}", reason_phrase(status)).trim_end().to_owned();
    }
    match attempt.outcome {
        AttemptOutcome::Running => "Running".to_owned(),
        AttemptOutcome::Completed => "Completed".to_owned(),
        AttemptOutcome::TimedOut => "Timed out".to_owned(),
        AttemptOutcome::Lost => "Lease lost".to_owned(),
        AttemptOutcome::Cancelled => "Stopped: the job was cancelled".to_owned(),
        AttemptOutcome::Failed => {
            first_line(attempt.error_message.as_deref()).unwrap_or_else(|| "Failed".to_owned())
        }
    }
}

/// The answer's text or the error, and the worker that got it.
pub fn detail(attempt: &Attempt) -> Option<String> {
    if attempt.outcome == AttemptOutcome::Lost {
        let worker = attempt.worker_id.map(|id| format!(" {}", short(&id.to_string()))).unwrap_or_default();
        return Some(format!(
            "Worker{worker} died during the attempt. It does not count: the same attempt is made again."
        ));
    }
    let said = attempt.response_excerpt.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let most = if attempt.exchange.is_some() { SHORT_CHARS } else { usize::MAX };
    let said = said.map(|text| format!("“{}”", sanitise(text, most))).or_else(|| {
        let has_status = attempt.response_status.is_some() || attempt.outcome == AttemptOutcome::TimedOut;
        attempt.error_message.clone().filter(|_| has_status && attempt.outcome != AttemptOutcome::Completed)
    });
    let worker = attempt.worker_id.map(|id| format!("worker {}", short(&id.to_string())));
    let parts: Vec<_> = said.into_iter().chain(worker).collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

/// The wait after an attempt, present or past.
pub fn wait(attempt: &Attempt, goes_on: bool) -> Option<String> {
    let ms = attempt.next_wait_ms.filter(|_| attempt.outcome != AttemptOutcome::Lost)?;
    let wait = match ms {
        ..=0 => "tried again at once".to_owned(),
        ms if goes_on => format!("next wait {}", format::milliseconds(ms)),
        ms => format!("waited {}", format::milliseconds(ms)),
    };
    Some(match &attempt.next_wait_reason {
        Some(reason) => format!("{wait}: {reason}"),
        None => wait,
    })
}

fn first_line(text: Option<&str>) -> Option<String> {
    text.and_then(|text| text.lines().next()).map(str::to_owned).filter(|line| !line.is_empty())
}

/// The end of a UUIDv7 tells two apart; they begin alike, with the time.
fn short(id: &str) -> &str {
    id.rsplit('-').next().unwrap_or(id)
}

/// Reason phrases of RFC 9110 and 6585.
pub const fn reason_phrase(status: i16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        422 => "Unprocessable Content",
        425 => "Too Early",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed() -> Attempt {
        Attempt {
            attempt: 1,
            worker_id: None,
            started_at: None,
            finished_at: None,
            outcome: AttemptOutcome::Failed,
            error_kind: None,
            error_message: Some("connection reset by peer\nwhile reading".to_owned()),
            response_status: None,
            response_excerpt: None,
            duration_ms: Some(300),
            next_wait_ms: None,
            next_wait_reason: None,
            exchange: None,
        }
    }

    #[test]
    fn the_headline_is_what_came_back() {
        assert_eq!(headline(&failed()), "connection reset by peer");
        assert_eq!(headline(&Attempt { response_status: Some(503), ..failed() }), "503 Service Unavailable");
        assert_eq!(headline(&Attempt { response_status: Some(599), ..failed() }), "599");
        assert_eq!(headline(&Attempt { outcome: AttemptOutcome::TimedOut, ..failed() }), "Timed out");
    }

    #[test]
    fn a_wait_says_why_it_is_that_long() {
        let attempt = Attempt {
            next_wait_ms: Some(180_000),
            next_wait_reason: Some("lengthened by their Retry-After: 180".to_owned()),
            ..failed()
        };
        assert_eq!(
            wait(&attempt, true).as_deref(),
            Some("next wait 3 m: lengthened by their Retry-After: 180")
        );
        assert!(wait(&attempt, false).is_some_and(|text| text.starts_with("waited 3 m: ")));
    }

    #[test]
    fn a_lost_lease_says_that_it_does_not_count() {
        let lost = Attempt { outcome: AttemptOutcome::Lost, next_wait_ms: Some(0), ..failed() };
        assert_eq!(headline(&lost), "Lease lost");
        assert!(detail(&lost).is_some_and(|text| text.ends_with("the same attempt is made again.")));
        assert_eq!(wait(&lost, true), None);
    }

    #[test]
    fn their_words_are_quoted() {
        let attempt = Attempt {
            response_status: Some(503),
            response_excerpt: Some("upstream timed out".to_owned()),
            ..failed()
        };
        assert_eq!(detail(&attempt).as_deref(), Some("“upstream timed out”"));
    }
}
