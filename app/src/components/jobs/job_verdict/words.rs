//! Why a job waits, or how it ended, in two sentences.

use crate::{format, ui::literal};
use chrono::{DateTime, Utc};
use model::job::{Job, JobStatus};
use model::rules::explain::{Explanation, Reason, ReasonCode};
use model::text::ordinal;

pub fn headline(job: &Job, explanation: &Explanation, now: DateTime<Utc>) -> String {
    let at = |at: Option<DateTime<Utc>>| {
        at.map_or_else(String::new, |at| {
            format!(" at {}, {}", format::clock(at, now), format::relative(at, now))
        })
    };
    if let Some(at) = job.cancel_requested_at {
        let when = format::relative(at, now);
        return format!("Cancellation was requested {when}; its worker has not stopped yet.");
    }
    match job.status {
        JobStatus::Processing => format!(
            "Processing: attempt {} of {} began{}.",
            job.attempt,
            job.max_attempts,
            at(job.started_at)
        ),
        JobStatus::Completed if job.outcome.as_deref() == Some("unchanged") => {
            format!("Completed{}, without a request: the record was already in sync.", at(job.completed_at))
        }
        JobStatus::Completed => format!("Completed{}, in {}.", at(job.completed_at), attempts(job.attempt)),
        JobStatus::Failed => format!("Given up{} after {}.", at(job.failed_at), attempts(job.attempt)),
        JobStatus::Cancelled => format!("Cancelled{}.", at(job.cancelled_at)),
        JobStatus::Pending | JobStatus::ToBeRetried | JobStatus::Retrying => waiting(job, explanation, now),
    }
}

pub fn first_blocker(explanation: &Explanation) -> Option<&Reason> {
    explanation.reasons.first().filter(|first| first.code != ReasonCode::NextInLine)
}

fn waiting(job: &Job, explanation: &Explanation, now: DateTime<Utc>) -> String {
    let next = ordinal(i64::from(job.attempt) + 1);
    let Some(first) = first_blocker(explanation) else {
        return format!("Its {next} attempt starts at once: nothing blocks it.");
    };
    match (first.code, explanation.runs_at) {
        (ReasonCode::WaitingRetry | ReasonCode::Scheduled | ReasonCode::GathersChanges, Some(at)) => {
            let (clock, relative) = (format::clock(at, now), format::relative(at, now));
            if at <= now {
                format!("Its {next} attempt is due since {clock}.")
            } else {
                format!("Waits for its {next} attempt at {clock}, {relative}.")
            }
        }
        _ => format!("Waits for its {next} attempt. {}", first.detail),
    }
}

/// The sentence below the verdict.
pub fn remark(job: &Job, explanation: &Explanation, is_in_sync: bool) -> String {
    let error = job
        .error_message
        .as_deref()
        .and_then(|text| text.lines().next())
        .map(|text| literal(text.trim_end_matches('.')));
    let others: Vec<_> = explanation.reasons.iter().skip(1).map(|reason| reason.detail.clone()).collect();
    match (job.status, error) {
        (JobStatus::Failed, Some(error)) if is_in_sync => {
            format!(
                "Last attempt: **{error}**. A later job has brought the record up to date: **nothing is missing**."
            )
        }
        (JobStatus::Failed, Some(error)) => {
            format!(
                "Last attempt: **{error}**. It will not be tried again by itself: requeue it once the cause is fixed."
            )
        }
        (JobStatus::ToBeRetried | JobStatus::Retrying, Some(error)) if others.is_empty() => {
            format!("Last attempt: **{error}**. Nothing else blocks it.")
        }
        (JobStatus::ToBeRetried | JobStatus::Retrying, Some(error)) => {
            format!("Last attempt: **{error}**. Also: {}", others.join(" "))
        }
        (JobStatus::Processing, _) if explanation.reasons.iter().any(|r| r.code == ReasonCode::LeaseLost) => {
            explanation.reasons.iter().map(|reason| reason.detail.clone()).collect::<Vec<_>>().join(" ")
        }
        (JobStatus::Processing, _) if job.cancel_requested_at.is_some() => {
            "It ends when its worker stops, or its lease is lost. **No further attempt follows**, and no other job of its record or serialize key starts before then.".to_owned()
        }
        (JobStatus::Cancelled, _) => {
            job.outcome.as_deref().map_or_else(String::new, |why| literal(&format!("Why: {why}.")))
        }
        _ => others.join(" "),
    }
}

fn attempts(n: i16) -> String {
    format::counted(n.into(), "attempt", "attempts")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_job_says_when_it_was_asked_to_cancel() {
        let id = "0193f2c1-7b1e-7d04-9a55-2f0c8a9d41b7";
        let (at, now) = ("2026-11-20T14:00:00Z", "2026-11-20T14:00:03Z");
        let job: Job = serde_json::from_value(serde_json::json!({
            "id": id, "app_id": id, "integration_id": id, "integration_type": "webhook", "job_type": "record.updated",
            "status": "processing", "priority": 0, "correlation_id": "c", "attempt": 1, "max_attempts": 10,
            "run_at": at, "created_at": at, "started_at": at, "cancel_requested_at": at, "folded": 0,
        }))
        .expect("a job");
        let explanation = Explanation { state: job.status, reasons: Vec::new(), runs_at: None };
        assert_eq!(
            headline(&job, &explanation, now.parse().expect("a time")),
            "Cancellation was requested 3 s ago; its worker has not stopped yet."
        );
        assert!(remark(&job, &explanation, false).contains("No further attempt follows"));
    }
}
