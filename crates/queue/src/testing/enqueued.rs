//! Which jobs were enqueued.

use super::TestKit;
use crate::{
    QueueError,
    job::{self, Job},
    store::jobs,
};
use model::{
    actor::Scope,
    filter::JobFilter,
    job::JobStatus,
    page::{MAX_LIMIT, PageRequest},
};

/// A job that was enqueued and has not begun.
#[derive(Clone, Debug)]
pub struct Enqueued<J> {
    /// What it was made with.
    pub payload: J,
    /// Everything else: priority, times, keys.
    pub job: model::job::Job,
}

impl TestKit {
    /// The jobs of a type that wait for their first attempt, in any lane, oldest first; 500 at most.
    ///
    /// # Errors
    /// When the database is away.
    ///
    /// # Panics
    /// When a payload cannot be read as one of its type.
    pub async fn enqueued<J: Job>(&self) -> Result<Vec<Enqueued<J>>, QueueError> {
        let filter = JobFilter {
            job_type: Some(J::JOB_TYPE.to_owned()),
            status: Some(JobStatus::Pending),
            ..JobFilter::default()
        };
        let page = PageRequest { after: None, limit: MAX_LIMIT };
        let found = jobs::list(&self.pool, Scope::AllApps, &filter, page).await?;
        let read = |job: model::job::Job| match job::payload::<J>(job.payload.as_ref()) {
            Ok(payload) => Enqueued { payload, job },
            Err(error) => panic!("job {}: {error}", job.id),
        };
        Ok(found.items.into_iter().rev().map(read).collect())
    }

    /// The one job of this type that waits and that the closure says yes to.
    ///
    /// # Panics
    /// When there is none, or more than one; the message says which jobs of the type there are.
    pub async fn assert_enqueued<J: Job>(&self, is_it: impl Fn(&J) -> bool) -> Enqueued<J> {
        let (mut these, others) = self.those::<J>(is_it).await;
        assert!(
            these.len() == 1,
            "{} jobs of type {} are as expected, instead of one; the others:{}",
            these.len(),
            J::JOB_TYPE,
            listed(&others)
        );
        these.remove(0)
    }

    /// No job of this type waits that the closure says yes to.
    ///
    /// # Panics
    /// When one does.
    pub async fn refute_enqueued<J: Job>(&self, is_it: impl Fn(&J) -> bool) {
        let (these, _) = self.those::<J>(is_it).await;
        assert!(these.is_empty(), "there are such jobs of type {}:{}", J::JOB_TYPE, listed(&these));
    }

    async fn those<J: Job>(&self, is_it: impl Fn(&J) -> bool) -> (Vec<Enqueued<J>>, Vec<Enqueued<J>>) {
        match self.enqueued::<J>().await {
            Ok(all) => all.into_iter().partition(|job| is_it(&job.payload)),
            Err(error) => panic!("which jobs there are cannot be asked: {error}"),
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
