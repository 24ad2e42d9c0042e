//! Masks what a job's page shows of secrets.

use crate::{Headgate, ServiceError};
use model::actor::Role;
use model::attempt::Attempt;
use model::rules::masking::{MASK, Sensitive};
use model::views::job_page::{JobPage, JobRecord};

impl Headgate {
    /// Masks a job, its record together with its sent state, and the related jobs; counts the masked values of the job.
    pub(super) async fn masked_page(&self, mut page: JobPage, role: Role) -> Result<JobPage, ServiceError> {
        let app_id = page.detail.job.app_id;
        let masks = self.delivery.masks(vec![app_id]).await?;
        let of_record = match &mut page.record {
            Some(JobRecord { record, sent: Some((_, _, before)), .. }) => {
                masks.of(app_id).both(before, &mut record.record.attributes)
            }
            Some(JobRecord { record, sent: None, .. }) => record.mask(&masks),
            None => 0,
        };
        page.related.correlated.mask(&masks);
        // Not counted: the request has the same values.
        if let Some(request) = page.related.request.take() {
            let mut request = (app_id, request);
            request.mask(&masks);
            request.hide_internals(role);
            page.related.request = Some(request.1);
        }
        let masked = match page.detail.mask(&masks) + of_record {
            // The record may have lost the secret since, but a request that was sent still shows it.
            0 => page.detail.attempts.iter().filter(|attempt| has_masked_request(attempt)).count(),
            masked => masked,
        };
        page.masked = u32::try_from(masked).unwrap_or(u32::MAX);
        Ok(page)
    }
}

fn has_masked_request(attempt: &Attempt) -> bool {
    let request = attempt.exchange.as_ref().and_then(|exchange| exchange.request.as_ref());
    request.is_some_and(|request| request.excerpt.contains(MASK))
}
