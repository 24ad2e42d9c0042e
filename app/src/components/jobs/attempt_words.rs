//! An attempt in words: what came back, what the answer said, why the next one waits.

use crate::format;
use model::attempt::{Attempt, AttemptOutcome};
use model::rules::plain_cause;

pub fn headline(attempt: &Attempt) -> String {
    if let Some(status) = attempt.response_status {
        return plain_cause::status_words(status);
    }
    match attempt.outcome {
        AttemptOutcome::Running => "Running".to_owned(),
        AttemptOutcome::Completed => "Completed".to_owned(),
        AttemptOutcome::TimedOut => "Timed out".to_owned(),
        AttemptOutcome::Lost => "Lease lost".to_owned(),
        AttemptOutcome::Cancelled => "Stopped: the job was cancelled".to_owned(),
        AttemptOutcome::Failed => attempt
            .error_message
            .as_deref()
            .map_or_else(|| "Failed".to_owned(), |error| plain_cause::sentence(error, None)),
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
    let status = attempt.response_status;
    let response = attempt.response_excerpt.as_deref().and_then(|text| plain_cause::said(text, status));
    let said = response.map(|said| format!("“{said}”")).or_else(|| {
        // Without a status the headline has the error.
        let is_new = status.is_some() || attempt.outcome == AttemptOutcome::TimedOut;
        let error = attempt.error_message.as_deref().filter(|_| is_new)?;
        plain_cause::said(error, status).filter(|_| attempt.outcome != AttemptOutcome::Completed)
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

/// What is kept of the response, or the error, where neither the line nor the exchange shows all of it.
pub fn kept(attempt: &Attempt) -> Option<(&'static str, String)> {
    let is_in_exchange = attempt.exchange.as_ref().is_some_and(|exchange| exchange.answer.is_some());
    if is_in_exchange || attempt.outcome == AttemptOutcome::Lost {
        return None;
    }
    let response = attempt.response_excerpt.as_deref().filter(|text| !text.trim().is_empty());
    let (name, text) = match (response, attempt.error_message.as_deref()) {
        (Some(response), _) => ("Response", response),
        (None, Some(error)) => ("Error", error),
        (None, None) => return None,
    };
    (!plain_cause::is_whole(text)).then(|| (name, text.to_owned()))
}

/// The end of a UUIDv7 tells two apart; they begin alike, with the time.
fn short(id: &str) -> &str {
    id.rsplit('-').next().unwrap_or(id)
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
        assert_eq!(kept(&attempt), None);
    }

    #[test]
    fn a_body_is_no_quote_and_is_kept_whole() {
        let body = r#"{"error":{"code":17,"message":"the price is missing"}}"#;
        let attempt = Attempt {
            response_status: Some(422),
            response_excerpt: Some(body.to_owned()),
            error_message: Some(format!("answered 422 Unprocessable Entity: {body}")),
            ..failed()
        };
        assert_eq!(headline(&attempt), "422 Unprocessable Entity");
        assert_eq!(detail(&attempt).as_deref(), Some("“the price is missing”"));
        assert_eq!(kept(&attempt), Some(("Response", body.to_owned())));
        assert_eq!(kept(&failed()).map(|(name, _)| name), Some("Error"));
    }
}
