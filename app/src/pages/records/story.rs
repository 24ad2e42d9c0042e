//! What became of a job, as one line of the timeline.

use crate::format;
use chrono::{DateTime, Utc};
use model::{job::JobStatus, trail::TrailJob};

/// `3 changes folded in · failed 4 times · requeued once · completed 2 m after it was accepted`
pub(super) fn story(item: &TrailJob, now: DateTime<Utc>) -> String {
    let job = &item.job;
    let mut parts = Vec::new();
    if job.folded > 0 {
        parts.push(format::counted(job.folded.into(), "change folded in", "changes folded in"));
    }
    if item.failed_attempts > 0 && job.status != JobStatus::Failed {
        parts.push(format!("failed {}", times(item.failed_attempts)));
    }
    if item.requeues > 0 {
        parts.push(format!("requeued {}", times(item.requeues)));
    }
    parts.push(ending(item, now));
    let line = parts.join(" · ");
    let mut letters = line.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn ending(item: &TrailJob, now: DateTime<Utc>) -> String {
    let job = &item.job;
    let after = |at: Option<DateTime<Utc>>| {
        at.map_or_else(String::new, |at| {
            format!(" {} after it was accepted", format::duration(at - job.created_at))
        })
    };
    let at = |at: Option<DateTime<Utc>>| {
        at.map_or_else(String::new, |at| format!(" at {}", format::clock(at, now)))
    };
    match job.status {
        JobStatus::Pending => "waits for its first attempt".to_owned(),
        JobStatus::Processing => format!("attempt {} of {} is running", job.attempt, job.max_attempts),
        JobStatus::ToBeRetried => {
            format!("attempt {} of {} is next{}", job.attempt + 1, job.max_attempts, at(job.retry_at))
        }
        JobStatus::Retrying => format!("attempt {} of {} is due", job.attempt + 1, job.max_attempts),
        JobStatus::Completed if job.outcome.as_deref() == Some("unchanged") => {
            "completed without a request: it was already up to date".to_owned()
        }
        JobStatus::Completed => format!("completed{}", after(job.completed_at)),
        JobStatus::Failed => {
            format!(
                "dead-lettered{} after {}",
                at(job.failed_at),
                format::counted(job.attempt.into(), "attempt", "attempts")
            )
        }
        JobStatus::Cancelled => format!("cancelled{}", at(job.cancelled_at)),
    }
}

fn times(n: i64) -> String {
    match n {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{} times", format::count(n)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_story_has_folds_failures_requeues_and_the_end() {
        let id = "0193f2c1-7b1e-7d04-9a55-2f0c8a9d41b7";
        let job = |more: serde_json::Value| -> TrailJob {
            let mut job = serde_json::json!({
                "id": id, "app_id": id, "integration_id": id, "integration_type": "webhook", "job_type": "record.updated",
                "status": "completed", "priority": 0, "correlation_id": "c", "attempt": 3, "max_attempts": 10,
                "run_at": "2026-11-20T14:00:00Z", "created_at": "2026-11-20T14:00:00Z", "folded": 0,
                "failed_attempts": 0, "requeues": 0,
            });
            for (name, value) in more.as_object().cloned().unwrap_or_default() {
                job[name] = value;
            }
            serde_json::from_value(job).expect("a job")
        };
        let now = "2026-11-20T15:00:00Z".parse().expect("a time");
        for (more, line) in [
            (
                serde_json::json!({"folded": 3, "failed_attempts": 2, "requeues": 1, "completed_at": "2026-11-20T14:02:00Z"}),
                "3 changes folded in · failed twice · requeued once · completed 2 m after it was accepted",
            ),
            (
                serde_json::json!({"outcome": "unchanged"}),
                "Completed without a request: it was already up to date",
            ),
            (
                serde_json::json!({"status": "failed", "failed_attempts": 3, "failed_at": "2026-11-20T14:03:00Z"}),
                "Dead-lettered at 14:03:00 after 3 attempts",
            ),
            (
                serde_json::json!({"status": "to_be_retried", "failed_attempts": 3, "retry_at": "2026-11-20T15:03:00Z"}),
                "Failed 3 times · attempt 4 of 10 is next at 15:03:00",
            ),
        ] {
            assert_eq!(story(&job(more), now), line);
        }
    }
}
