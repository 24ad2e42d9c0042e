//! `webhook`: one signed POST per job.

use chrono::{DateTime, Utc};
use model::attributes::Attributes;
use model::event::EventType;
use model::id::{AppId, IntegrationId, JobId};
use model::rules::diff::Changes;
use serde::Serialize;
use serde_json::Value;

use super::send_plan::SendPlan;

/// The body of a webhook about a record; also an item of a bundle.
#[derive(Serialize)]
pub(super) struct RecordBody<'a> {
    id: JobId,
    #[serde(rename = "type")]
    kind: &'a str,
    /// When it was sent, which is also when the payload was computed.
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

/// The body of a webhook for a job that is not about a record.
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

/// The fields all bodies have.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) job_id: JobId,
    pub(super) job_type: &'a str,
    pub(super) app_id: AppId,
    pub(super) integration_id: IntegrationId,
    pub(super) now: DateTime<Utc>,
}

#[derive(Clone, Copy)]
pub(super) struct RecordContent<'a> {
    pub(super) record_type: &'a str,
    pub(super) record_id: &'a str,
    pub(super) version: i64,
    pub(super) attributes: &'a Attributes,
}

pub(super) fn record_body<'a>(
    subject: Subject<'a>,
    content: RecordContent<'a>,
    plan: &SendPlan,
) -> RecordBody<'a> {
    let is_deletion = matches!(plan, SendPlan::Deletion { .. });
    RecordBody {
        id: subject.job_id,
        kind: kind(subject.job_type, plan),
        timestamp: subject.now,
        app_id: subject.app_id,
        integration_id: subject.integration_id,
        record: RecordPart {
            record_type: content.record_type,
            id: content.record_id,
            version: content.version,
        },
        changes: match plan {
            SendPlan::Whole => Changes::all(content.attributes),
            SendPlan::Difference { changes, .. } => changes.clone(),
            SendPlan::Deletion { .. } | SendPlan::Nothing => Changes::default(),
        },
        full: !is_deletion && matches!(plan, SendPlan::Whole),
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

/// The type follows the plan: a deletion is one whatever changes were folded into the job, and a record that exists again is none.
fn kind<'a>(job_type: &'a str, plan: &SendPlan) -> &'a str {
    let deleted = EventType::Deleted.as_str();
    match plan {
        SendPlan::Deletion { .. } => deleted,
        _ if job_type == deleted => EventType::Updated.as_str(),
        _ => job_type,
    }
}
