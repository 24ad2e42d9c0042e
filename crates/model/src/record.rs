//! Records, and what integrations have of them.

use crate::attributes::Attributes;
use crate::event::Event;
use crate::id::{AppId, IntegrationId, JobId};
use crate::job::JobStatus;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// Names a record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordKey {
    /// The app it belongs to.
    pub app_id: AppId,
    /// Its type.
    pub record_type: String,
    /// Its id in the app.
    pub record_id: String,
}

impl RecordKey {
    /// That of the record which an event changes.
    #[must_use]
    pub fn of(event: &Event) -> Self {
        Self {
            app_id: event.app_id,
            record_type: event.record_type.clone(),
            record_id: event.record_id.clone(),
        }
    }
}

/// The records of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct RecordFilter {
    /// Only records of this app.
    pub app_id: Option<AppId>,
    /// Only records of this type.
    pub record_type: Option<String>,
}

/// An object of an app, such as an order or a product, of which Headgate keeps the newest version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Record {
    /// Its app.
    pub app_id: AppId,
    /// 1 to 255 characters.
    pub record_type: String,
    /// 1 to 255 characters.
    pub record_id: String,
    /// Incremented by each change. A record that is created again after its deleted row was removed begins at 1.
    pub version: i64,
    /// All attributes of that version.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub attributes: Attributes,
    /// When it was deleted. Once every integration that had it has received the deletion, and `HEADGATE_DELETED_RECORD_RETENTION` has passed, the
    /// record is removed.
    pub deleted_at: Option<DateTime<Utc>>,
    /// When it was first accepted.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

/// A record with its state in each integration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RecordWithSync {
    /// The record.
    #[serde(flatten)]
    pub record: Record,
    /// One entry per integration that is sent this type of record.
    pub integrations: Vec<RecordSync>,
}

/// State of a record in one integration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RecordSync {
    /// The integration.
    pub integration_id: IntegrationId,
    /// Its name.
    pub integration_name: String,
    /// Version that it last accepted; null: none yet.
    pub version: Option<i64>,
    /// When it accepted that version.
    pub sent_at: Option<DateTime<Utc>>,
    /// Whether it has the newest version.
    pub in_sync: bool,
    /// The live job or dead letter that is to send the difference.
    pub job_id: Option<JobId>,
    /// That job's status.
    pub job_status: Option<JobStatus>,
}

/// Sent state: what an integration last accepted of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SentRecord {
    /// The record's type.
    pub record_type: String,
    /// The record's id.
    pub record_id: String,
    /// Version that it accepted.
    pub version: i64,
    /// When it accepted that version.
    pub sent_at: DateTime<Utc>,
    /// All attributes of that version.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub attributes: Attributes,
}

/// Which of an integration's sent records a list shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct SentFilter {
    /// Only records of this type.
    pub record_type: Option<String>,
    /// Only records with this id.
    pub record_id: Option<String>,
}
