//! The request that the next attempt of a job would make, to be looked at and repeated by hand. Nothing is sent, no slot is taken.

use model::{
    id::JobId,
    job::Job,
    request::{RequestPreview, SECRET},
};

use super::{
    bundle,
    handler::{Asked, prepare},
};
use crate::{Delivery, DeliveryError, integrations::open_credentials, store, store::material};

impl Delivery {
    /// Whether a job sends all of its record, whatever the system has of it: one of a full re-sync.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub async fn sends_everything(&self, id: JobId) -> Result<bool, DeliveryError> {
        store::jobs::is_full(&self.pool, id).await
    }

    /// As it would be sent now; none: there is nothing to send, or nowhere to. Values of headers are left out: they can be keys.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub async fn preview(&self, job: &Job) -> Result<Option<RequestPreview>, DeliveryError> {
        let record = job.record_type.as_deref().zip(job.record_id.as_deref());
        let wanted = material::Asked {
            integration_id: job.integration_id,
            job_id: job.id,
            record: job.record_type.clone().zip(job.record_id.clone()),
        };
        let Some(material) = self.reading.look(wanted).await? else { return Ok(None) };
        let asked = Asked {
            job_id: job.id,
            job_type: &job.job_type,
            app_id: job.app_id,
            integration_id: job.integration_id,
            record,
            payload: job.payload.as_ref(),
            is_full: self.sends_everything(job.id).await?,
        };
        let Ok(Some(prepared)) = prepare(&asked, &material) else { return Ok(None) };
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
