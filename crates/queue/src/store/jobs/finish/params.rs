//! Ends as the parameters of the statements.

use crate::store::jobs::finish::end::{AttemptEnd, Ending, Failure, Response};
use chrono::{DateTime, Utc};
use model::attempt::AttemptOutcome;
use model::exchange::Exchange;
use model::id::{DeadLetterId, IntegrationId};
use model::rules::fingerprint::{cause_of, fingerprint};
use model::rules::verdict::{ErrorKind, Verdict};
use model::text::{EXCERPT_CHARS, sanitise};
use serde_json::Value;

#[derive(Default)]
pub(super) struct EndParams<'a> {
    pub(super) action: i16,
    pub(super) outcome: Option<&'static str>,
    pub(super) attempt_outcome: Option<&'static str>,
    pub(super) wait_us: Option<i64>,
    pub(super) wait_reason: Option<&'a str>,
    pub(super) until: Option<DateTime<Utc>>,
    pub(super) response: Option<&'a Response>,
    pub(super) duration_ms: Option<i32>,
    pub(super) result: Option<&'a Value>,
    pub(super) kind: Option<&'static str>,
    pub(super) attempt_kind: Option<&'static str>,
    pub(super) message: Option<String>,
    pub(super) fingerprint: Option<String>,
    pub(super) dead_letter_id: Option<DeadLetterId>,
    pub(super) sent_body: Option<&'a Value>,
    pub(super) exchange: Option<&'a Exchange>,
}

impl<'a> EndParams<'a> {
    pub(super) fn of(end: &'a AttemptEnd) -> Self {
        let duration_ms = Some(i32::try_from(end.duration.as_millis()).unwrap_or(i32::MAX));
        match &end.ending {
            Ending::Completed { how, response, result } => Self {
                action: 3,
                outcome: Some(how.as_str()),
                response: response.as_ref(),
                duration_ms,
                // A result that Postgres would refuse (a NUL, too deep) must not keep the job from completing.
                result: result.as_ref().filter(|result| model::json::check(result).is_ok()),
                ..Self::default()
            },
            Ending::Cancelled { why } => {
                Self { action: 4, outcome: Some(why), duration_ms, ..Self::default() }
            }
            Ending::Released { until } => Self { action: 0, until: Some(*until), ..Self::default() },
            Ending::Retried { failure, attempt_outcome, wait, wait_reason } => Self {
                action: 2,
                wait_us: Some(i64::try_from(wait.as_micros()).unwrap_or(i64::MAX / 2)),
                wait_reason: Some(wait_reason),
                kind: Some(retry_kind(failure).as_str()),
                ..Self::failed(end.integration_id, failure, *attempt_outcome, duration_ms)
            },
            Ending::Dead { failure, attempt_outcome, kind } => Self {
                action: 5,
                kind: Some(kind.as_str()),
                dead_letter_id: Some(DeadLetterId::generate()),
                sent_body: failure.sent_body.as_ref().filter(|body| model::json::check(body).is_ok()),
                ..Self::failed(end.integration_id, failure, *attempt_outcome, duration_ms)
            },
        }
    }

    fn failed(
        integration_id: IntegrationId,
        failure: &'a Failure,
        outcome: AttemptOutcome,
        duration_ms: Option<i32>,
    ) -> Self {
        let status = failure.response.as_ref().and_then(|response| i16::try_from(response.status).ok());
        Self {
            fingerprint: Some(fingerprint(integration_id, cause_of(status, &failure.message))),
            attempt_outcome: Some(outcome.as_str()),
            attempt_kind: Some(retry_kind(failure).as_str()),
            message: Some(sanitise(&failure.message, EXCERPT_CHARS)),
            response: failure.response.as_ref(),
            exchange: failure.exchange.as_deref(),
            duration_ms,
            ..Self::default()
        }
    }
}

/// The error kind of one failed attempt, whatever became of the job.
fn retry_kind(failure: &Failure) -> ErrorKind {
    match failure.verdict {
        Verdict::Retry { kind, .. } => kind,
        Verdict::GiveUp { .. } | Verdict::Completed => ErrorKind::NotRetryable,
    }
}
