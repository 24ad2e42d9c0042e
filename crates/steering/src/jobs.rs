//! Single jobs: brought back, called off.

use crate::{Steering, SteeringError};
use access::audit::Entry;
use delivery::DeliveryError;
use model::{actor::Actor, id::JobId, job::Job, json, problem::Faults, record::Attributes};
use queue::store::jobs;
use serde_json::Value;

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

    /// Gives a failed job another payload and requeues it; the line has both, without their secrets.
    ///
    /// # Errors
    /// No such job; it has not failed, or follows a record; a payload that cannot be stored; a job of its deduplication id that waits, which
    /// would take it over.
    pub async fn edit_job(&self, actor: &Actor, id: JobId, payload: &Value) -> Result<Job, SteeringError> {
        check_payload(payload)?;
        let app_id = jobs::get(self.pool(), actor.scope(), id).await?.job.app_id;
        let masks = self.delivery.masks(vec![app_id]).await?;
        let job = self
            .change(actor, async |mut tx| {
                let before = jobs::change_payload(&mut tx, actor.scope(), id, payload).await?;
                let job = jobs::requeue(&mut tx, actor.scope(), id).await?;
                if job.id != id {
                    return Err(taken_over(job.id));
                }
                let (mut was, mut is) = (shown(before.payload), shown(Some(payload.clone())));
                masks.of(app_id).both(&mut was, &mut is);
                Ok((tx, job, Entry::new("job.edit").about(id).of_app(app_id).changed(&was, &is)))
            })
            .await?;
        self.delivery.wake();
        Ok(job)
    }
}

/// Bytes of a payload that the audit log keeps whole.
const MOST_KEPT: usize = 100_000;

fn shown(payload: Option<Value>) -> Attributes {
    let bytes = payload.as_ref().map_or(0, |payload| payload.to_string().len());
    let kept = payload.filter(|_| bytes <= MOST_KEPT);
    let shown = kept.unwrap_or_else(|| Value::from(format!("({bytes} bytes, too large to be kept here)")));
    Attributes::from_iter([("payload".to_owned(), shown)])
}

fn check_payload(payload: &Value) -> Result<(), DeliveryError> {
    let mut faults = Faults::default();
    if let Err(fault) = json::check(payload) {
        faults.add(format!("/payload{}", fault.pointer), fault.detail);
    }
    faults.require(payload.to_string().len() <= json::MAX_RECORD_BYTES, "/payload", "limit: payload 1 MB");
    Ok(faults.into_result()?)
}

fn taken_over(by: JobId) -> SteeringError {
    let detail = format!("job {by} of the same deduplication id waits already and would take it over");
    DeliveryError::Conflict { code: "taken-over", detail }.into()
}
