//! Jobs that a service could not process: logged, counted, and left alone for a while.

use super::MaintenanceHealth;
use crate::{error::QueueError, mutex};
use model::id::JobId;
use std::collections::HashMap;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// The wait before the first repetition; twice as long after each further failure.
const FIRST_WAIT: Duration = Duration::from_secs(60);
const LONGEST_WAIT: Duration = Duration::from_secs(60 * 60);

/// Those of one service. They are kept in memory: another leader finds them again.
#[derive(Debug)]
pub(super) struct PassedOver {
    service: &'static str,
    health: OnceLock<MaintenanceHealth>,
    jobs: Mutex<HashMap<JobId, Wait>>,
}

#[derive(Debug)]
struct Wait {
    until: Instant,
    length: Duration,
}

impl PassedOver {
    pub(super) fn by(service: &'static str) -> Self {
        Self { service, health: OnceLock::new(), jobs: Mutex::default() }
    }

    pub(super) fn watch(&self, health: &MaintenanceHealth) {
        // Called once.
        let _ = self.health.set(health.clone());
    }

    /// Logs and counts jobs that could not be processed, and leaves them alone for a while.
    pub(super) fn note<'a>(&self, faulty: impl IntoIterator<Item = (JobId, &'a QueueError)>) {
        for (id, error) in faulty {
            let error = error.with_causes();
            tracing::error!(job.id = %id, service = self.service, %error, "{} skips job {id} and will try it again later", self.service);
            if let Some(health) = self.health.get() {
                health.passed_over(self.service);
            }
            self.wait(id, Instant::now());
        }
    }

    fn wait(&self, id: JobId, now: Instant) {
        let mut jobs = mutex::lock(&self.jobs);
        let length = jobs.get(&id).map_or(FIRST_WAIT, |wait| (wait.length * 2).min(LONGEST_WAIT));
        jobs.insert(id, Wait { until: now + length, length });
    }

    pub(super) fn is_left_alone(&self, id: JobId, now: Instant) -> bool {
        mutex::lock(&self.jobs).get(&id).is_some_and(|wait| wait.until > now)
    }

    pub(super) fn left_alone(&self, now: Instant) -> Vec<JobId> {
        mutex::lock(&self.jobs).iter().filter(|(_, wait)| wait.until > now).map(|(id, _)| *id).collect()
    }

    /// Forgets jobs that have not failed for so long that they must have ended some other way.
    pub(super) fn forget_old(&self, now: Instant) {
        mutex::lock(&self.jobs).retain(|_, wait| wait.until + LONGEST_WAIT > now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_left_alone_for_longer_each_time() {
        let passed_over = PassedOver::by("lease_recovery");
        let (id, mut now) = (JobId::generate(), Instant::now());
        assert!(!passed_over.is_left_alone(id, now));
        for minutes in [1, 2, 4, 8, 16, 32, 60, 60] {
            passed_over.wait(id, now);
            now += Duration::from_secs(minutes * 60);
            passed_over.forget_old(now);
            assert!(passed_over.is_left_alone(id, now - Duration::from_secs(1)), "{minutes}");
            assert!(!passed_over.is_left_alone(id, now), "{minutes}");
        }
        passed_over.forget_old(now + LONGEST_WAIT);
        assert!(mutex::lock(&passed_over.jobs).is_empty());
    }
}
