//! Single jobs: brought back, called off.

use crate::{Steering, SteeringError};
use access::audit::Entry;
use model::{actor::Actor, id::JobId, job::Job};
use queue::store::jobs;

impl Steering {
    /// Puts a dead or cancelled job back into the queue, with its id and all attempts anew.
    ///
    /// # Errors
    /// No such job; its state does not allow it.
    pub async fn requeue_job(&self, actor: &Actor, id: JobId) -> Result<Job, SteeringError> {
        let job = self
            .change(actor, async |mut tx| {
                let job = jobs::requeue(&mut tx, actor.scope(), id).await?;
                let entry = Entry::new("job.requeue").about(id).of_app(job.app_id);
                Ok((tx, job, entry))
            })
            .await?;
        self.delivery.wake();
        Ok(job)
    }

    /// Calls a live job off. One that is being processed is waited for a moment: the answer tells how it stands by then.
    ///
    /// # Errors
    /// No such job; its state does not allow it.
    pub async fn cancel_job(&self, actor: &Actor, id: JobId) -> Result<Job, SteeringError> {
        let job = self
            .change(actor, async |mut tx| {
                let job = jobs::cancel(&mut tx, actor.scope(), id).await?;
                let entry = Entry::new("job.cancel").about(id).of_app(job.app_id);
                Ok((tx, job, entry))
            })
            .await?;
        // Another of its serialize key may be first now.
        self.delivery.wake();
        Ok(jobs::until_let_go(self.pool(), actor.scope(), job, jobs::LET_GO_PATIENCE).await)
    }
}
