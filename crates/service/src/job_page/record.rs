//! A job's record beside what its integration was last sent of it.

use crate::{Headgate, ServiceError};
use model::{
    actor::Scope, job::Job, record::SentFilter, record_page::RecordPageRequest, views::job_page::JobRecord,
};

impl Headgate {
    /// The record of a job with its state at every integration; none when it no longer exists.
    pub(super) async fn record_of(&self, scope: Scope, job: &Job) -> Result<Option<JobRecord>, ServiceError> {
        let (Some(kind), Some(id)) = (&job.record_type, &job.record_id) else { return Ok(None) };
        let record = match self.delivery.record(scope, job.app_id, kind, id).await.map_err(ServiceError::from)
        {
            Ok(record) => record,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error),
        };
        let one = RecordPageRequest { limit: 1, after: None };
        let filter = SentFilter { record_type: Some(kind.clone()), record_id: Some(id.clone()) };
        let sent = self.delivery_lists().sent(scope, job.integration_id, &filter, &one).await?;
        let sent = sent.items.into_iter().next().map(|sent| (sent.version, sent.sent_at, sent.attributes));
        let is_full = self.delivery.sends_whole_record(job.id).await?;
        Ok(Some(JobRecord { record, sent, is_full }))
    }
}
