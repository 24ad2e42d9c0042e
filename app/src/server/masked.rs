//! Masks a job's page, unless its reader had the values revealed.

use super::ConsoleContext;
use crate::calls::{
    error::CallError,
    jobs::{JobPage, JobRecord},
};
use chrono::{DateTime, Utc};
use model::{
    actor::{Actor, Role},
    attempt::Attempt,
    id::JobId,
    rules::{
        masking::{MASK, Sensitive},
        permission::{Permission, is_allowed},
    },
};

/// Masks a job, its record together with its sent state, and the related jobs; counts the masked values of the job.
///
/// # Errors
/// When the masks cannot be read: then nothing is shown.
pub async fn job(cx: &ConsoleContext, page: &mut JobPage, role: Role) -> Result<(), CallError> {
    let app_id = page.detail.job.app_id;
    let masks = cx.delivery.masks(vec![app_id]).await?;
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
    Ok(())
}

fn has_masked_request(attempt: &Attempt) -> bool {
    let request = attempt.exchange.as_ref().and_then(|exchange| exchange.request.as_ref());
    request.is_some_and(|request| request.excerpt.contains(MASK))
}

/// Until when the reader may see a job's masked values.
pub async fn revealed_until(
    cx: &ConsoleContext,
    actor: &Actor,
    id: JobId,
) -> Result<Option<DateTime<Utc>>, CallError> {
    if !is_allowed(actor.role, Permission::ReadUnmasked) {
        return Ok(None);
    }
    Ok(cx.headgate.revealed_until(actor, id).await?)
}
