//! Jobs of a kind this process does not know.

use crate::worker::{AttemptHandler, HeldJob, Outcome};
use async_trait::async_trait;
use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// How long such a job stays away at least: another process is asked meanwhile.
const SHORTEST: Duration = Duration::from_secs(5);
/// How long at most.
const LONGEST: Duration = Duration::from_secs(10 * 60);
/// They come back one after the other, this far apart, so that a backlog of them is not claimed over and over.
const APART: Duration = Duration::from_millis(20);
/// Kinds that are remembered as warned about.
const MOST_WARNED: usize = 1_000;

/// Leaves jobs to a process that has the handler for them: they go back as they are, no attempt counted, for 5 s and, should there be many,
/// up to 10 minutes. One warning a kind is logged.
///
/// Other programs' jobs are not claimed at all ([`Runner::program`](crate::Runner::program)); but during a rolling deployment a program's new
/// producers run beside its old workers. Whoever ends a job because *it* does not know what to do ends
/// work that another process could do.
#[derive(Debug, Default)]
pub struct Unhandled(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    warned: HashSet<String>,
    last_back_at: Option<Instant>,
}

impl Seen {
    /// How long this one stays away.
    fn wait(&mut self, now: Instant) -> Duration {
        let earliest = now + SHORTEST;
        let back_at =
            self.last_back_at.map_or(earliest, |last| earliest.max(last + APART)).min(now + LONGEST);
        self.last_back_at = Some(back_at);
        back_at - now
    }

    fn is_news(&mut self, job_type: &str) -> bool {
        self.warned.len() < MOST_WARNED && self.warned.insert(job_type.to_owned())
    }
}

#[async_trait]
impl AttemptHandler for Unhandled {
    async fn run(&self, job: &HeldJob) -> Outcome {
        let (is_news, wait) = {
            let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            (seen.is_news(&job.job_type), seen.wait(Instant::now()))
        };
        if is_news {
            tracing::warn!(
                job.id = %job.id,
                job.type = %job.job_type,
                "this process has no handler for jobs of type {}: they are left to other processes of its program (another program on this database \
                 takes a name of its own: Runner::program)",
                job.job_type
            );
        }
        Outcome::Released { until: job.time_in(wait) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backlog_comes_back_one_by_one_and_in_ten_minutes_at_the_latest() {
        let (mut seen, now) = (Seen::default(), Instant::now());
        let waits: Vec<Duration> = (0..40_000).map(|_| seen.wait(now)).collect();
        assert_eq!(waits[..3], [5_000, 5_020, 5_040].map(Duration::from_millis));
        assert_eq!(waits[39_999], LONGEST);
        assert_eq!(seen.wait(now + LONGEST), SHORTEST, "a quiet time later");
    }

    #[test]
    fn each_kind_is_warned_about_once() {
        let mut seen = Seen::default();
        assert!(seen.is_news("a") && seen.is_news("b") && !seen.is_news("a"));
    }
}
