//! A job's attempts as rounds: a requeue counts attempts from 1 again and a lost lease does not count, so numbers repeat.

use chrono::{DateTime, TimeDelta, Utc};
use model::attempt::{Attempt, AttemptOutcome};
use model::integration::IntegrationType;
use model::job::{Job, JobStatus};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// From the first attempt to what happened last.
    pub entries: Vec<Entry>,
    /// Attempts that count in the present round.
    pub counted: i64,
    /// All attempts of every round, lost ones included.
    pub made: i64,
    /// Headgate sends a request for the job; false where the app's own worker does it.
    pub sends: bool,
}

/// Identifies an entry, also when others come after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EntryKey {
    /// Its index, from the first.
    pub at: usize,
    /// An attempt's number, and when it began.
    attempt: Option<(i16, Option<DateTime<Utc>>)>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// One attempt, and the milliseconds it was in the queue after it was due, where both times are known.
    Try(Attempt, Option<i64>),
    /// The attempts before it no longer count.
    Requeued,
}

impl History {
    /// Reads a job and its attempts, oldest first.
    pub fn of(job: &Job, attempts: Vec<Attempt>) -> Self {
        let mut history = Self {
            counted: job.attempt.into(),
            sends: job.integration_type != IntegrationType::External,
            ..Self::default()
        };
        for attempt in attempts {
            if history.last().is_some_and(|last| !follows(last, attempt.attempt)) {
                history.entries.push(Entry::Requeued);
            }
            history.made += 1;
            let queued = queued_ms(job, history.last(), &attempt);
            history.entries.push(Entry::Try(attempt, queued));
        }
        // Requeued and not tried since: no attempt of the new round yet.
        let is_before_the_first = job.attempt == 0
            && matches!(job.status, JobStatus::Pending | JobStatus::ToBeRetried | JobStatus::Retrying);
        if is_before_the_first && history.last().is_some_and(|last| !follows(last, 1)) {
            history.entries.push(Entry::Requeued);
        }
        history
    }

    pub fn keys(&self) -> impl DoubleEndedIterator<Item = EntryKey> {
        self.entries.iter().enumerate().map(|(at, entry)| {
            let attempt = match entry {
                Entry::Try(attempt, _) => Some((attempt.attempt, attempt.started_at)),
                Entry::Requeued => None,
            };
            EntryKey { at, attempt }
        })
    }

    /// `3 of 10`, or `1 of 10 · 12 in total`.
    pub fn in_words(&self, most: i16) -> String {
        let in_all =
            if self.made > self.counted { format!(" · {} in total", self.made) } else { String::new() };
        format!("{} of {most}{in_all}", self.counted)
    }

    fn last(&self) -> Option<&Attempt> {
        self.entries.iter().rev().find_map(|entry| match entry {
            Entry::Try(attempt, _) => Some(attempt),
            Entry::Requeued => None,
        })
    }
}

/// Since when it could have begun: the end of the wait after the attempt before it, or the job's `run_at`. `None` where that is
/// later than the attempt: a requeue moves it.
fn queued_ms(job: &Job, before: Option<&Attempt>, attempt: &Attempt) -> Option<i64> {
    let due = match before.filter(|before| follows(before, attempt.attempt)) {
        Some(before) => before.finished_at? + TimeDelta::milliseconds(before.next_wait_ms?),
        None => job.run_at,
    };
    let ms = (attempt.started_at? - due).num_milliseconds();
    (ms >= 0).then_some(ms)
}

/// Whether the number follows from the other attempt without a requeue: the next number, or the same one after a lost lease.
fn follows(last: &Attempt, number: i16) -> bool {
    let next = if last.outcome == AttemptOutcome::Lost { last.attempt } else { last.attempt + 1 };
    // Numbers in between may be gone: retention drops attempts by the day.
    number >= next
}

#[cfg(test)]
mod tests {
    use super::*;
    use AttemptOutcome::{Completed, Failed, Lost};

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
            next_wait_ms: None,
            next_wait_reason: None,
            exchange: None,
        }
    }

    fn job(status: &str, attempt: i16) -> Job {
        let id = "0193f2c1-7b1e-7d04-9a55-2f0c8a9d41b7";
        let at = "2026-11-20T14:00:00Z";
        serde_json::from_value(serde_json::json!({
            "id": id, "app_id": id, "integration_id": id, "integration_type": "webhook", "job_type": "record.updated",
            "status": status, "priority": 0, "correlation_id": "c", "attempt": attempt, "max_attempts": 10,
            "run_at": at, "created_at": at, "folded": 0,
        }))
        .expect("a job")
    }

    /// `1 2 | 1` where a bar is a requeue.
    fn read(job: &Job, attempts: &[(i16, AttemptOutcome)]) -> String {
        let history = History::of(job, attempts.iter().map(|(n, outcome)| tried(*n, *outcome)).collect());
        let words: Vec<_> = history
            .entries
            .iter()
            .map(|entry| match entry {
                Entry::Try(attempt, _) => attempt.attempt.to_string(),
                Entry::Requeued => "|".to_owned(),
            })
            .collect();
        words.join(" ")
    }

    #[test]
    fn a_requeue_is_where_the_numbers_start_again() {
        for (status, at, attempts, want) in [
            ("to_be_retried", 2, vec![(1, Failed), (2, Failed)], "1 2"),
            ("to_be_retried", 1, vec![(1, Failed), (2, Failed), (1, Failed)], "1 2 | 1"),
            ("completed", 1, vec![(1, Failed), (1, Completed)], "1 | 1"),
            ("pending", 0, vec![(1, Failed), (2, Failed)], "1 2 |"),
            ("cancelled", 0, vec![(1, Failed)], "1"),
            ("completed", 6, vec![(5, Failed), (6, Completed)], "5 6"),
        ] {
            assert_eq!(read(&job(status, at), &attempts), want, "{status} {attempts:?}");
        }
    }

    #[test]
    fn the_wait_in_the_queue_is_counted_from_when_it_was_due() {
        let at = |seconds| {
            Some("2026-11-20T14:00:00Z".parse::<DateTime<Utc>>().ok()? + TimeDelta::seconds(seconds))
        };
        let first =
            Attempt { started_at: at(2), finished_at: at(3), next_wait_ms: Some(10_000), ..tried(1, Failed) };
        let second = Attempt { started_at: at(14), ..tried(2, Completed) };
        let history = History::of(&job("completed", 2), vec![first, second, tried(3, Failed)]);
        let queued = history.entries.iter().map(|entry| match entry {
            Entry::Try(_, queued) => *queued,
            Entry::Requeued => None,
        });
        assert_eq!(queued.collect::<Vec<_>>(), [Some(2_000), Some(1_000), None]);
    }

    #[test]
    fn a_lost_lease_repeats_its_number_and_is_no_requeue() {
        assert_eq!(read(&job("completed", 1), &[(1, Lost), (1, Completed)]), "1 1");
        assert_eq!(read(&job("to_be_retried", 2), &[(1, Failed), (2, Lost), (2, Failed)]), "1 2 2");
        assert_eq!(read(&job("pending", 0), &[(1, Lost)]), "1");
    }

    #[test]
    fn the_sum_separates_counted_attempts_from_all() {
        let history = History::of(&job("to_be_retried", 1), vec![tried(1, Failed), tried(1, Failed)]);
        assert_eq!(history.in_words(10), "1 of 10 · 2 in total");
        let history = History::of(&job("to_be_retried", 1), vec![tried(1, Failed)]);
        assert_eq!(history.in_words(10), "1 of 10");
    }
}
