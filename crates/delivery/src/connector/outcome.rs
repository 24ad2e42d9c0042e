//! What an answer, or the lack of one, means for the job.

use chrono::{DateTime, TimeDelta, Utc};
use model::exchange::Exchange;
use model::rules::verdict::{self, Verdict, judge};
use model::text::{EXCERPT_CHARS, sanitise};
use queue::worker::{Failure, Response};

use super::{send_plan::SendPlan, stop::Stop};
use crate::http::client::Sent;
use crate::http::exchange::{self, Outgoing};
use crate::http::failure::SendFailure;

/// Characters of an answer's body that stand in the error message.
const MESSAGE_EXCERPT_CHARS: usize = 200;

/// An attempt, judged.
#[derive(Clone)]
pub(super) struct Judged {
    /// What went over the wire; kept of failures only.
    pub(super) exchange: Option<Box<Exchange>>,
    pub(super) verdict: Verdict,
    pub(super) message: String,
    pub(super) response: Option<Response>,
    /// Whether the receiver may have accepted the request although it did not say so.
    pub(super) may_have_arrived: bool,
    /// Whether another job of the same request reports this answer too.
    pub(super) is_echo: bool,
}

/// The wait of a job for which this process could open no connection. Its worker is free meanwhile, here and in other processes.
const OPEN_FILES_WAIT: TimeDelta = TimeDelta::seconds(1);

/// Judges the result of sending. `now` is the database's time.
///
/// # Errors
/// When this process could not send: neither an attempt nor the breaker counts it.
pub(super) fn judge_result(
    outgoing: Outgoing,
    Sent { result, timing }: Sent,
    plan: Option<&SendPlan>,
    now: DateTime<Utc>,
) -> Result<Judged, Stop> {
    let answer = match result {
        Ok(answer) => answer,
        Err(failure @ SendFailure::TooManyOpenFiles) => {
            tracing::warn!("a delivery waits: {failure}");
            return Err(Stop::Later(now + OPEN_FILES_WAIT));
        }
        Err(failure) => {
            // A forbidden target got no request.
            let exchange = match failure {
                SendFailure::Refused => Exchange { timing, ..Exchange::default() },
                _ => outgoing.exchange(None, timing),
            };
            return Ok(Judged {
                exchange: Some(Box::new(exchange)),
                verdict: judge(&failure.answer(), now),
                message: failure.to_string(),
                response: None,
                may_have_arrived: failure.may_have_arrived(),
                is_echo: false,
            });
        }
    };
    let retry_after = answer.retry_after.clone();
    let answered = verdict::Answer::Response { status: answer.status, retry_after };
    let mut verdict = judge(&answered, now);
    // An earlier attempt of this deletion may have arrived: a 404 says that it did.
    if answer.status == 404 && matches!(plan, Some(SendPlan::Deletion { is_uncertain: true })) {
        verdict = Verdict::Completed;
    }
    let has_failed = verdict != Verdict::Completed;
    Ok(Judged {
        exchange: has_failed.then(|| Box::new(outgoing.exchange(Some(&answer), timing))),
        verdict,
        message: message(answer.status, &answer.excerpt),
        response: Some(Response {
            status: answer.status,
            excerpt: answer.excerpt,
            duration: answer.duration,
        }),
        may_have_arrived: answer.status == 408 || answer.status >= 500,
        is_echo: false,
    })
}

impl Judged {
    /// `body`: this job's part of the request's body.
    pub(super) fn into_failure(mut self, body: &[u8]) -> Failure {
        if let Some(request) = self.exchange.as_mut().and_then(|exchange| exchange.request.as_mut()) {
            (request.excerpt, request.body.is_cut) = exchange::body_excerpt(body);
        }
        Failure {
            exchange: self.exchange,
            verdict: self.verdict,
            message: sanitise(&self.message, EXCERPT_CHARS),
            response: self.response,
            sent_body: serde_json::from_slice(body).ok(),
        }
    }
}

fn message(status: u16, excerpt: &str) -> String {
    let reason = reqwest::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let answered =
        reason.map_or_else(|| format!("answered {status}"), |reason| format!("answered {status} {reason}"));
    match excerpt.trim() {
        "" => answered,
        excerpt => format!("{answered}: {}", sanitise(excerpt, MESSAGE_EXCERPT_CHARS)),
    }
}

/// The attributes an attempt sends; none: all of them (which replaces any others the system has), or a deletion.
pub(super) fn planned_attributes(plan: &SendPlan, sends_whole: bool) -> Option<Vec<String>> {
    match plan {
        SendPlan::Difference { changes, .. } if !sends_whole => {
            Some(changes.set.keys().chain(&changes.unset).cloned().collect())
        }
        SendPlan::Difference { .. } | SendPlan::Nothing | SendPlan::Whole | SendPlan::Deletion { .. } => None,
    }
}
