//! `webhook`: one signed POST per job.

use chrono::{DateTime, Utc};
use model::{
    id::{AppId, IntegrationId, JobId},
    record::{Attributes, EventType},
    rules::diff::Changes,
};
use serde::Serialize;
use serde_json::Value;

use super::telling::Telling;

/// What a webhook, or an item of a bundle, says of a record.
#[derive(Serialize)]
pub(super) struct RecordBody<'a> {
    id: JobId,
    #[serde(rename = "type")]
    kind: &'a str,
    /// When it was sent, which is when it was true: the payload is computed then.
    timestamp: DateTime<Utc>,
    app_id: AppId,
    integration_id: IntegrationId,
    record: RecordPart<'a>,
    changes: Changes,
    full: bool,
}

#[derive(Serialize)]
struct RecordPart<'a> {
    #[serde(rename = "type")]
    record_type: &'a str,
    id: &'a str,
    version: i64,
}

/// What a webhook says of a job that is not about a record.
#[derive(Serialize)]
pub(super) struct PayloadBody<'a> {
    id: JobId,
    #[serde(rename = "type")]
    kind: &'a str,
    timestamp: DateTime<Utc>,
    app_id: AppId,
    integration_id: IntegrationId,
    payload: Option<&'a Value>,
}

/// Whom and what a body is about.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) job_id: JobId,
    pub(super) job_type: &'a str,
    pub(super) app_id: AppId,
    pub(super) integration_id: IntegrationId,
    pub(super) now: DateTime<Utc>,
}

/// A record as it is told.
#[derive(Clone, Copy)]
pub(super) struct Told<'a> {
    pub(super) record_type: &'a str,
    pub(super) record_id: &'a str,
    pub(super) version: i64,
    pub(super) attributes: &'a Attributes,
}

pub(super) fn record_body<'a>(subject: Subject<'a>, told: Told<'a>, telling: &Telling) -> RecordBody<'a> {
    let is_deletion = matches!(telling, Telling::Deletion { .. });
    RecordBody {
        id: subject.job_id,
        kind: kind(subject.job_type, telling),
        timestamp: subject.now,
        app_id: subject.app_id,
        integration_id: subject.integration_id,
        record: RecordPart { record_type: told.record_type, id: told.record_id, version: told.version },
        changes: match telling {
            Telling::Whole => Changes::all(told.attributes),
            Telling::Difference { changes, .. } => changes.clone(),
            Telling::Deletion { .. } | Telling::Nothing => Changes::default(),
        },
        full: !is_deletion && matches!(telling, Telling::Whole),
    }
}

pub(super) fn payload_body<'a>(subject: Subject<'a>, payload: Option<&'a Value>) -> PayloadBody<'a> {
    PayloadBody {
        id: subject.job_id,
        kind: subject.job_type,
        timestamp: subject.now,
        app_id: subject.app_id,
        integration_id: subject.integration_id,
        payload,
    }
}

/// A deletion is one whatever was folded into the job, and a record that came back is none.
fn kind<'a>(job_type: &'a str, telling: &Telling) -> &'a str {
    let deleted = EventType::Deleted.as_str();
    match telling {
        Telling::Deletion { .. } => deleted,
        _ if job_type == deleted => EventType::Updated.as_str(),
        _ => job_type,
    }
}
