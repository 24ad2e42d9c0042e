//! The states a job went through, each with its time, the present one last.

use crate::components::JobStateStyle;
use crate::format;
use crate::ui::{Icon, Instant};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::attempt::{Attempt, AttemptOutcome};
use model::job::{Job, JobStatus};

/// How many states are shown at the beginning and at the end of a long history.
const SHOWN: (usize, usize) = (2, 6);

#[component]
pub fn StateHistory(
    job: Job,
    /// All of the job's attempts.
    attempts: Vec<Attempt>,
    /// Decides which times are today's.
    now: DateTime<Utc>,
) -> impl IntoView {
    let steps = states_of(&job, &attempts);
    let last = steps.len().saturating_sub(1);
    let (head, tail) = SHOWN;
    let left_out = steps.len().saturating_sub(head + tail);
    view! {
        <ol class="course" aria-label="States">
            {steps
                .into_iter()
                .enumerate()
                .filter(|(at, _)| left_out == 0 || *at < head || *at >= head + left_out)
                .map(|(at, step)| {
                    let gap = (left_out > 0 && at == head + left_out)
                        .then(|| view! { <li class="gap">{format::counted(left_out as i64, "more state", "more states")}</li> });
                    view! {
                        {gap}
                        <StepItem step=step is_now=at == last now=now />
                    }
                })
                .collect_view()}
        </ol>
    }
    .into_any()
}

#[component]
fn StepItem(step: Step, is_now: bool, now: DateTime<Utc>) -> impl IntoView {
    let style = JobStateStyle::of(step.status);
    view! {
        <li class=style.tone.class() aria-current=is_now.then_some("step")>
            <b>
                <Icon glyph=style.glyph size="w-[13px] h-[13px]" />
                {style.word}
            </b>
            <span>
                {step.at.map(|at| view! { <Instant at=at now=now /> })}
                {(!step.note.is_empty()).then(|| format!(" {}", step.note))}
            </span>
        </li>
    }
    .into_any()
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    status: JobStatus,
    at: Option<DateTime<Utc>>,
    note: String,
}

/// Every state from acceptance to the present one, as far as retention kept the attempts.
fn states_of(job: &Job, attempts: &[Attempt]) -> Vec<Step> {
    let step = |status, at, note: String| Step { status, at, note };
    let mut steps = vec![step(JobStatus::Pending, Some(job.created_at), "accepted".to_owned())];
    for (n, attempt) in attempts.iter().enumerate() {
        let says = format!("attempt {}", attempt.attempt);
        steps.push(step(JobStatus::Processing, attempt.started_at, says));
        let ended = attempt.finished_at;
        let next = attempts.get(n + 1);
        let is_requeue_next = next.is_some_and(|next| next.attempt <= attempt.attempt);
        match attempt.outcome {
            AttemptOutcome::Lost if next.is_some() || job.status.is_live() => {
                steps.push(step(JobStatus::Pending, ended, "lease lost".to_owned()));
            }
            AttemptOutcome::Failed | AttemptOutcome::TimedOut if is_requeue_next => {
                steps.push(step(JobStatus::Pending, None, "requeued".to_owned()));
            }
            AttemptOutcome::Failed | AttemptOutcome::TimedOut if next.is_some() => {
                let wait = attempt.next_wait_ms.filter(|ms| *ms > 0);
                let wait = wait
                    .map_or_else(|| "at once".to_owned(), |ms| format!("for {}", format::milliseconds(ms)));
                steps.push(step(JobStatus::ToBeRetried, ended, wait));
            }
            _ => {}
        }
    }
    let end = match job.status {
        JobStatus::Processing => None,
        JobStatus::Completed => Some((job.completed_at, job.outcome.clone().unwrap_or_default())),
        JobStatus::Failed => Some((job.failed_at, "dead-lettered".to_owned())),
        JobStatus::Cancelled => Some((job.cancelled_at, String::new())),
        JobStatus::ToBeRetried | JobStatus::Retrying => {
            let since = attempts.last().and_then(|last| last.finished_at);
            let tries = format!("attempt {} of {} follows", job.attempt + 1, job.max_attempts);
            Some((since, tries))
        }
        // Requeued: the attempts before do not count any more.
        JobStatus::Pending if !attempts.is_empty() && job.attempt == 0 => Some((None, "requeued".to_owned())),
        JobStatus::Pending => None,
    };
    if let Some((at, note)) = end {
        let is_there = steps.last().is_some_and(|last| last.status == job.status && last.note == note);
        if !is_there {
            steps.push(step(job.status, at, note));
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use AttemptOutcome::{Completed, Failed, Lost, Running};

    fn tried(attempt: i16, outcome: AttemptOutcome) -> Attempt {
        Attempt {
            attempt,
            worker_id: None,
            started_at: None,
            finished_at: None,
            outcome,
            error_kind: None,
            error_message: None,
            response_status: None,
            response_excerpt: None,
            duration_ms: None,
            next_wait_ms: Some(10_000),
            next_wait_reason: None,
            exchange: None,
        }
    }

    fn read(status: &str, attempt: i16, attempts: &[(i16, AttemptOutcome)]) -> String {
        let id = "0193f2c1-7b1e-7d04-9a55-2f0c8a9d41b7";
        let at = "2026-11-20T14:00:00Z";
        let job: Job = serde_json::from_value(serde_json::json!({
            "id": id, "app_id": id, "integration_id": id, "integration_type": "webhook", "job_type": "record.updated",
            "status": status, "priority": 0, "correlation_id": "c", "attempt": attempt, "max_attempts": 10,
            "run_at": at, "created_at": at, "folded": 0, "outcome": "sent",
        }))
        .expect("a job");
        let attempts: Vec<_> = attempts.iter().map(|(n, outcome)| tried(*n, *outcome)).collect();
        let steps = states_of(&job, &attempts).into_iter();
        steps.map(|step| format!("{} {}", step.status.as_str(), step.note)).collect::<Vec<_>>().join(" > ")
    }

    #[test]
    fn the_states_follow_from_the_attempts() {
        for (status, attempt, attempts, way) in [
            ("pending", 0, vec![], "pending accepted"),
            ("processing", 1, vec![(1, Running)], "pending accepted > processing attempt 1"),
            (
                "completed",
                2,
                vec![(1, Failed), (2, Completed)],
                "pending accepted > processing attempt 1 > to_be_retried for 10 s > processing attempt 2 > completed sent",
            ),
            (
                "to_be_retried",
                1,
                vec![(1, Failed)],
                "pending accepted > processing attempt 1 > to_be_retried attempt 2 of 10 follows",
            ),
            (
                "failed",
                1,
                vec![(1, Lost), (1, Failed)],
                "pending accepted > processing attempt 1 > pending lease lost > processing attempt 1 > failed dead-lettered",
            ),
            ("pending", 0, vec![(1, Failed)], "pending accepted > processing attempt 1 > pending requeued"),
            (
                "completed",
                1,
                vec![(1, Failed), (1, Completed)],
                "pending accepted > processing attempt 1 > pending requeued > processing attempt 1 > completed sent",
            ),
        ] {
            assert_eq!(read(status, attempt, &attempts), way);
        }
    }
}
