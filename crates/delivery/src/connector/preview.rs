//! The request that the next attempt of a job would make, to be read and repeated by hand. Nothing is sent, no slot is taken.

use model::id::JobId;
use model::job::Job;
use model::request::{RequestPreview, SECRET};

use super::bundle;
use super::handler::{JobInput, prepare};
use crate::{Delivery, DeliveryError, integrations::open_credentials, store, store::material};

impl Delivery {
    /// Whether a job sends its whole record, whatever the system has of it: one of a re-sync.
    pub async fn sends_whole_record(&self, id: JobId) -> Result<bool, DeliveryError> {
        store::jobs::is_full(&self.pool, id).await
    }

    /// The request as it would be sent now; none: there is nothing to send, or no address. Values of headers are left out: they can be keys.
    pub async fn preview(&self, job: &Job) -> Result<Option<RequestPreview>, DeliveryError> {
        let record = job.record_type.as_deref().zip(job.record_id.as_deref());
        let query = material::MaterialQuery {
            integration_id: job.integration_id,
            job_id: job.id,
            record: job.record_type.clone().zip(job.record_id.clone()),
        };
        let Some(material) = self.material_reader.read_one(query).await? else { return Ok(None) };
        let input = JobInput {
            job_id: job.id,
            job_type: &job.job_type,
            app_id: job.app_id,
            integration_id: job.integration_id,
            record,
            payload: job.payload.as_ref(),
            is_full: self.sends_whole_record(job.id).await?,
        };
        let Ok(Some(prepared)) = prepare(&input, &material) else { return Ok(None) };
        let names = open_credentials(&self.key, job.integration_id, &material.settings.secrets)
            .map(|credentials| credentials.expose().keys().cloned().collect::<Vec<_>>())
            .unwrap_or_default();
        let own =
            material.settings.headers.keys().cloned().chain(names).map(|name| (name, SECRET.to_owned()));
        let mut headers: Vec<(String, String)> = own.collect();
        headers.extend(prepared.draft.content_type.map(|kind| ("content-type".to_owned(), kind.to_owned())));
        headers.extend([
            ("webhook-id".to_owned(), job.id.to_string()),
            ("webhook-timestamp".to_owned(), "<unix seconds>".to_owned()),
            ("webhook-signature".to_owned(), "<signature>".to_owned()),
            ("x-correlation-id".to_owned(), job.last_correlation_id().to_owned()),
        ]);
        let body = prepared.draft.body;
        let body = if prepared.is_item { bundle::body([body.as_slice()]) } else { body };
        Ok(Some(RequestPreview {
            method: prepared.draft.method.to_string(),
            url: prepared.draft.url,
            headers,
            body: Some(String::from_utf8_lossy(&body).into_owned()).filter(|body| !body.is_empty()),
        }))
    }
}
