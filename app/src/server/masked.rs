//! A job's page without its secrets, unless its reader had them revealed.

use super::ConsoleContext;
use crate::calls::{error::CallError, jobs::JobRecord};
use chrono::{DateTime, Utc};
use model::{
    actor::Actor,
    id::JobId,
    job::JobDetail,
    rules::{
        masking::Sensitive,
        permission::{Permission, is_allowed},
    },
};

/// Masks a job, and its record against what was last sent of it; how many values that were.
///
/// # Errors
/// When it cannot be said what is to be masked: then nothing is shown.
pub async fn job(
    cx: &ConsoleContext,
    detail: &mut JobDetail,
    record: Option<&mut JobRecord>,
) -> Result<u32, CallError> {
    let app_id = detail.job.app_id;
    let masks = cx.delivery.masks(vec![app_id]).await?;
    let of_record = match record {
        Some(JobRecord { record, sent: Some((_, _, before)) }) => {
            masks.of(app_id).both(before, &mut record.record.attributes)
        }
        Some(JobRecord { record, sent: None }) => record.mask(&masks),
        None => 0,
    };
    Ok(u32::try_from(detail.mask(&masks) + of_record).unwrap_or(u32::MAX))
}

/// Until when the reader may see a job's secrets.
///
/// # Errors
/// The database's.
pub async fn revealed_until(
    cx: &ConsoleContext,
    actor: &Actor,
    id: JobId,
) -> Result<Option<DateTime<Utc>>, CallError> {
    if !is_allowed(actor.role, Permission::ReadUnmasked) {
        return Ok(None);
    }
    Ok(cx.steering().revealed_until(actor, id).await?)
}
