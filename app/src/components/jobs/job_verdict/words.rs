//! Why a job waits, or how it ended, in two sentences.

use crate::{format, ui::literal};
use chrono::{DateTime, Utc};
use model::failure::SameCause;
use model::job::{Job, JobStatus};
use model::rules::explain::{Explanation, Reason, ReasonCode};
use model::rules::plain_cause;
use model::text::{capitalise, ordinal};

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
        JobStatus::Failed => {
            let end = format!("Dead-lettered{}, after {}.", at(job.failed_at), attempts(job.attempt));
            match cause(job) {
                Some(cause) => format!("{} {end}", ended(&capitalise(&cause))),
                None => end,
            }
        }
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

/// Why the last attempt failed.
fn cause(job: &Job) -> Option<String> {
    job.error_message.as_deref().map(|error| plain_cause::sentence(error, None))
}

/// As a sentence of its own. One that was cut ends with its ellipsis.
fn ended(sentence: &str) -> String {
    if sentence.ends_with(['…', '?']) { sentence.to_owned() } else { format!("{sentence}.") }
}

/// How many other jobs of a failed job's cause there are.
pub fn same_cause(group: &SameCause, now: DateTime<Utc>) -> String {
    match group.others {
        0 => "No other job has this cause.".to_owned(),
        n => {
            let others = format::counted(n, "more job", "more jobs");
            format!("**{others}** of this cause, since **{}**.", format::clock(group.first_at, now))
        }
    }
}

/// The sentence below the verdict.
pub fn remark(job: &Job, explanation: &Explanation, is_in_sync: bool) -> String {
    let last_attempt = cause(job).map(|cause| format!("Last attempt: **{}**", literal(&cause)));
    let others: Vec<_> = explanation.reasons.iter().skip(1).map(|reason| reason.detail.clone()).collect();
    match (job.status, last_attempt) {
        (JobStatus::Failed, _) if is_in_sync => {
            "A later job has brought the record up to date: **nothing is missing**.".to_owned()
        }
        (JobStatus::Failed, _) => {
            "It will not be tried again by itself: requeue it once the cause is fixed.".to_owned()
        }
        (JobStatus::ToBeRetried | JobStatus::Retrying, Some(last_attempt)) if others.is_empty() => {
            format!("{last_attempt}. Nothing else blocks it.")
        }
        (JobStatus::ToBeRetried | JobStatus::Retrying, Some(last_attempt)) => {
            format!("{last_attempt}. Also: {}", others.join(" "))
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
    use chrono::TimeDelta;
    use model::failure::CauseId;

    /// A job that is being processed, with other values of some fields.
    fn job(fields: serde_json::Value) -> Job {
        let id = "0193f2c1-7b1e-7d04-9a55-2f0c8a9d41b7";
        let at = "2026-11-20T14:00:00Z";
        let mut job = serde_json::json!({
            "id": id, "app_id": id, "integration_id": id, "integration_type": "webhook", "job_type": "record.updated",
            "status": "processing", "priority": 0, "correlation_id": "c", "attempt": 1, "max_attempts": 10,
            "run_at": at, "created_at": at, "started_at": at, "folded": 0,
        });
        for (name, value) in fields.as_object().into_iter().flatten() {
            job[name] = value.clone();
        }
        serde_json::from_value(job).expect("a job")
    }

    fn now() -> DateTime<Utc> {
        "2026-11-20T14:00:03Z".parse().expect("a time")
    }

    fn nothing_blocks(job: &Job) -> Explanation {
        Explanation { state: job.status, reasons: Vec::new(), runs_at: None }
    }

    #[test]
    fn a_running_job_says_when_it_was_asked_to_cancel() {
        let job = job(serde_json::json!({ "cancel_requested_at": "2026-11-20T14:00:00Z" }));
        assert_eq!(
            headline(&job, &nothing_blocks(&job), now()),
            "Cancellation was requested 3 s ago; its worker has not stopped yet."
        );
        assert!(remark(&job, &nothing_blocks(&job), false).contains("No further attempt follows"));
    }

    #[test]
    fn a_failed_job_begins_with_its_cause() {
        for (error, begin) in [
            (
                r#"answered 422 Unprocessable Entity: {"errors":{"title":["can't be blank"]}}"#,
                "422 Unprocessable Entity: title can't be blank. ",
            ),
            ("<html><title>Down</title>", "Down. "),
            ("no answer within 2 s", "No answer within 2 s. "),
            (r#"answered 400 Bad Request: {"message":"The price must…"#, "400 Bad Request: The price must… "),
        ] {
            let job = job(serde_json::json!({
                "status": "failed", "failed_at": "2026-11-20T14:00:00Z", "error_kind": "not_retryable", "error_message": error,
            }));
            let says = headline(&job, &nothing_blocks(&job), now());
            assert_eq!(says, format!("{begin}Dead-lettered at 14:00:00, 3 s ago, after 1 attempt."));
            assert!(remark(&job, &nothing_blocks(&job), false).ends_with("once the cause is fixed."));
        }
        let waits = job(
            serde_json::json!({ "status": "to_be_retried", "error_message": "answered 503: <b>**no**</b>" }),
        );
        assert_eq!(
            remark(&waits, &nothing_blocks(&waits), false),
            "Last attempt: **503 Service Unavailable: * *no* ***. Nothing else blocks it."
        );
    }

    #[test]
    fn the_others_of_its_cause_are_counted() {
        let group =
            SameCause { fingerprint: CauseId(1), others: 318, first_at: now() - TimeDelta::hours(13) };
        assert_eq!(same_cause(&group, now()), "**318 more jobs** of this cause, since **01:00:03**.");
        let one = SameCause { others: 1, ..group };
        assert!(same_cause(&one, now()).starts_with("**1 more job** of this cause, "));
        assert_eq!(same_cause(&SameCause { others: 0, ..group }, now()), "No other job has this cause.");
    }
}
