//! Assertions about enqueued jobs.

use super::TestKit;
use crate::{Job, QueueError, job::handler, store::jobs};

/// A job that was enqueued and has not started.
#[derive(Clone, Debug)]
pub struct Enqueued<J> {
    /// Its payload.
    pub payload: J,
    /// Everything else: priority, times, keys.
    pub job: model::job::Job,
}

impl TestKit {
    /// The jobs of a type that wait for their first attempt, in any lane, oldest first; 500 at most.
    ///
    /// # Panics
    /// When a payload does not parse.
    pub async fn enqueued<J: Job>(&self) -> Result<Vec<Enqueued<J>>, QueueError> {
        let found = jobs::pending(&self.pool, J::JOB_TYPE).await?;
        let read = |job: model::job::Job| match handler::payload::<J>(job.payload.as_ref()) {
            Ok(payload) => Enqueued { payload, job },
            Err(error) => panic!("job {}: {error}", job.id),
        };
        Ok(found.into_iter().map(read).collect())
    }

    /// The one waiting job of this type that matches the closure.
    ///
    /// # Panics
    /// When there is none, or more than one; the message lists the waiting jobs of the type.
    pub async fn assert_enqueued<J: Job>(&self, matches: impl Fn(&J) -> bool) -> Enqueued<J> {
        let (mut matching_jobs, others) = self.matching::<J>(matches).await;
        assert!(
            matching_jobs.len() == 1,
            "{} jobs of type {} match instead of one; the others:{}",
            matching_jobs.len(),
            J::JOB_TYPE,
            listed(&others)
        );
        matching_jobs.remove(0)
    }

    /// Asserts that no waiting job of this type matches the closure.
    ///
    /// # Panics
    /// When one does.
    pub async fn refute_enqueued<J: Job>(&self, matches: impl Fn(&J) -> bool) {
        let (matching_jobs, _) = self.matching::<J>(matches).await;
        assert!(
            matching_jobs.is_empty(),
            "there are such jobs of type {}:{}",
            J::JOB_TYPE,
            listed(&matching_jobs)
        );
    }

    async fn matching<J: Job>(&self, matches: impl Fn(&J) -> bool) -> (Vec<Enqueued<J>>, Vec<Enqueued<J>>) {
        match self.enqueued::<J>().await {
            Ok(all) => all.into_iter().partition(|job| matches(&job.payload)),
            Err(error) => panic!("the waiting jobs could not be read: {error}"),
        }
    }
}

fn listed<J>(jobs: &[Enqueued<J>]) -> String {
    if jobs.is_empty() {
        return " none".to_owned();
    }
    let line = |job: &Enqueued<J>| format!("\n  {}", job.job.payload.clone().unwrap_or_default());
    jobs.iter().map(line).collect()
}
