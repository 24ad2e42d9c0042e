//! Jobs: create, read, explain, requeue, cancel, edit.

use crate::{Allowed, Headgate, ServiceError, permission};
use access::audit::Entry;
use delivery::DeliveryError;
use insight::store::explain;
use model::attributes::Attributes;
use model::id::JobId;
use model::job::{EnqueuedJob, Job, JobDetail, NewJob};
use model::json;
use model::one_or_many::OneOrMany;
use model::problem::Faults;
use model::rules::explain::Explanation;
use model::trace::TraceContext;
use queue::store::jobs;
use serde_json::Value;

impl Headgate {
    /// Creates jobs, all or none. Their requests continue the trace.
    ///
    /// # Errors
    /// Faults of every job; an integration, app or batch that is unknown or outside the actor's scope.
    pub async fn create_jobs(
        &self,
        actor: &Allowed<permission::Produce>,
        mut jobs: OneOrMany<NewJob>,
        trace: Option<TraceContext>,
    ) -> Result<Vec<EnqueuedJob>, ServiceError> {
        for job in jobs.as_mut_slice() {
            job.trace = trace;
        }
        Ok(match jobs {
            OneOrMany::One(job) => self.delivery.enqueue_job(actor.scope(), job).await?,
            OneOrMany::Many(jobs) => self.delivery.enqueue_jobs(actor.scope(), jobs).await?,
        })
    }

    /// A job with its attempts.
    ///
    /// # Errors
    /// No such job.
    pub async fn job(
        &self,
        actor: &Allowed<permission::ReadJobs>,
        id: JobId,
    ) -> Result<JobDetail, ServiceError> {
        self.shown(actor, jobs::get(self.pool(), actor.scope(), id).await?).await
    }

    /// Why a job is not running, or when it will run.
    ///
    /// # Errors
    /// No such job.
    pub async fn explain_job(
        &self,
        actor: &Allowed<permission::ReadJobs>,
        id: JobId,
    ) -> Result<Explanation, ServiceError> {
        Ok(explain::explain(self.pool(), actor.scope(), id).await?)
    }

    /// Puts a dead or cancelled job back into the queue, with the same id and all its attempts.
    ///
    /// # Errors
    /// No such job; its state does not allow it.
    pub async fn requeue_job(
        &self,
        actor: &Allowed<permission::SteerJobs>,
        id: JobId,
    ) -> Result<Job, ServiceError> {
        let job = self
            .change(actor, async |mut tx| {
                let job = jobs::requeue(&mut tx, actor.scope(), id).await?;
                let entry = Entry::new("job.requeue").about(id).of_app(job.app_id);
                Ok((tx, job, entry))
            })
            .await?;
        self.delivery.wake();
        self.shown(actor, job).await
    }

    /// Cancels a live job. For one that is being processed, this waits up to `CANCEL_TIMEOUT` and returns the job as it is then.
    ///
    /// # Errors
    /// No such job; its state does not allow it.
    pub async fn cancel_job(
        &self,
        actor: &Allowed<permission::SteerJobs>,
        id: JobId,
    ) -> Result<Job, ServiceError> {
        let job = self
            .change(actor, async |mut tx| {
                let job = jobs::cancel(&mut tx, actor.scope(), id).await?;
                let entry = Entry::new("job.cancel").about(id).of_app(job.app_id);
                Ok((tx, job, entry))
            })
            .await?;
        // Another job of its serialize key may be the head now.
        self.delivery.wake();
        let job = jobs::wait_for_cancel(self.pool(), actor.scope(), job, jobs::CANCEL_TIMEOUT).await;
        self.shown(actor, job).await
    }

    /// Gives a failed job another payload and requeues it. The audit line has both payloads, with secrets masked.
    ///
    /// # Errors
    /// No such job; it has not failed, or is a record's job; the payload cannot be stored; a job with its deduplication id waits, which it would
    /// be folded into.
    pub async fn edit_job(
        &self,
        actor: &Allowed<permission::Configure>,
        id: JobId,
        payload: &Value,
    ) -> Result<Job, ServiceError> {
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
                let (mut old, mut new) = (audited(before.payload), audited(Some(payload.clone())));
                masks.of(app_id).both(&mut old, &mut new);
                Ok((tx, job, Entry::new("job.edit").about(id).of_app(app_id).changed(&old, &new)))
            })
            .await?;
        self.delivery.wake();
        self.shown(actor, job).await
    }
}

/// Larger payloads are not kept in the audit log.
const MAX_AUDITED_BYTES: usize = 100_000;

fn audited(payload: Option<Value>) -> Attributes {
    let bytes = payload.as_ref().map_or(0, |payload| payload.to_string().len());
    let kept = payload.filter(|_| bytes <= MAX_AUDITED_BYTES);
    let kept = kept.unwrap_or_else(|| Value::from(format!("({bytes} bytes, too large to be kept here)")));
    Attributes::from_iter([("payload".to_owned(), kept)])
}

fn check_payload(payload: &Value) -> Result<(), DeliveryError> {
    let mut faults = Faults::default();
    if let Err(fault) = json::check(payload) {
        faults.add(format!("/payload{}", fault.pointer), fault.detail);
    }
    faults.require(payload.to_string().len() <= json::MAX_RECORD_BYTES, "/payload", "limit: payload 1 MB");
    Ok(faults.into_result()?)
}

fn taken_over(by: JobId) -> ServiceError {
    let detail = format!("job {by} with the same deduplication id is already waiting and would take it over");
    DeliveryError::Conflict { code: "taken-over", detail }.into()
}
