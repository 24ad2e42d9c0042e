//! The handler for job types this process does not know.

use crate::mutex::lock;
use crate::worker::handler::{AttemptHandler, LeasedJob, Outcome};
use async_trait::async_trait;
use std::{collections::HashSet, sync::Mutex, time::Duration};
use tokio::time::Instant;

/// Shortest wait before such a job can be claimed again, by another process.
const MIN_WAIT: Duration = Duration::from_secs(5);
const MAX_WAIT: Duration = Duration::from_secs(10 * 60);
/// They become claimable this far apart, so that a backlog of them is not claimed over and over.
const SPACING: Duration = Duration::from_millis(20);
/// Job types that are remembered as logged.
const MAX_WARNED: usize = 1_000;

/// Leaves jobs to a process that has a handler for them: they are released for 5 s or, if there are many, up to 10 minutes, and no attempt counts. It
/// logs one warning for each type.
///
/// Other programs' jobs are not claimed at all ([`Runner::program`](crate::Runner::program)). But during a rolling deployment new producers of a
/// program run together with its old workers, which must not end jobs that a new worker can do.
#[derive(Debug, Default)]
pub struct Unhandled(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    warned: HashSet<String>,
    last_back_at: Option<Instant>,
}

impl Seen {
    /// How long the next job is released.
    fn wait(&mut self, now: Instant) -> Duration {
        let earliest = now + MIN_WAIT;
        let back_at =
            self.last_back_at.map_or(earliest, |last| earliest.max(last + SPACING)).min(now + MAX_WAIT);
        self.last_back_at = Some(back_at);
        back_at - now
    }

    fn is_news(&mut self, job_type: &str) -> bool {
        self.warned.len() < MAX_WARNED && self.warned.insert(job_type.to_owned())
    }
}

#[async_trait]
impl AttemptHandler for Unhandled {
    async fn run(&self, job: &LeasedJob) -> Outcome {
        let (is_news, wait) = {
            let mut seen = lock(&self.0);
            (seen.is_news(&job.job_type), seen.wait(Instant::now()))
        };
        if is_news {
            tracing::warn!(
                job.id = %job.id,
                job.type = %job.job_type,
                "this process has no handler for jobs of type {}: they are left to other processes of its program (another program on this database \
                 needs a name of its own: Runner::program)",
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
    fn a_backlog_becomes_claimable_one_by_one_and_within_ten_minutes() {
        let (mut seen, now) = (Seen::default(), Instant::now());
        let waits: Vec<Duration> = (0..40_000).map(|_| seen.wait(now)).collect();
        assert_eq!(waits[..3], [5_000, 5_020, 5_040].map(Duration::from_millis));
        assert_eq!(waits[39_999], MAX_WAIT);
        assert_eq!(seen.wait(now + MAX_WAIT), MIN_WAIT, "a quiet time later");
    }

    #[test]
    fn each_type_is_logged_once() {
        let mut seen = Seen::default();
        assert!(seen.is_news("a") && seen.is_news("b") && !seen.is_news("a"));
    }
}
