//! Records and the events that change them.

use crate::{
    id::{AppId, IntegrationId, JobId},
    integration::KEY,
    integration::is_key,
    job::JobStatus,
    json, moment,
    problem::Faults,
    trace::TraceContext,
};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Attributes of a record: a JSON object.
pub type Attributes = Map<String, Value>;

/// A piece of an app's catalog that Headgate owns a copy of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Record {
    /// Whose it is.
    pub app_id: AppId,
    /// 1 to 255 characters.
    pub record_type: String,
    /// 1 to 255 characters.
    pub record_id: String,
    /// Grows by one with each change. A record that comes back after its deletion was forgotten begins at 1.
    pub version: i64,
    /// All attributes as of that version.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub attributes: Attributes,
    /// Set once it was deleted. When every integration that had it has been told, and `HEADGATE_DELETED_RECORD_RETENTION` has passed, the
    /// record is forgotten.
    pub deleted_at: Option<DateTime<Utc>>,
    /// When it was first accepted.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

/// A record with what each integration has of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RecordWithSync {
    /// The record.
    #[serde(flatten)]
    pub record: Record,
    /// One entry per interested integration.
    pub integrations: Vec<RecordSync>,
}

/// What one integration has of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RecordSync {
    /// The integration.
    pub integration_id: IntegrationId,
    /// Its name.
    pub integration_name: String,
    /// The version it last accepted; null: none yet.
    pub version: Option<i64>,
    /// When it accepted that.
    pub sent_at: Option<DateTime<Utc>>,
    /// Whether it has the newest version.
    pub in_sync: bool,
    /// The live job or dead letter that stands for the difference.
    pub job_id: Option<JobId>,
    /// That job's status.
    pub job_status: Option<JobStatus>,
}

/// The data last sent to an integration, per record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SentRecord {
    /// The record's type.
    pub record_type: String,
    /// The record's id.
    pub record_id: String,
    /// The version it accepted.
    pub version: i64,
    /// When it accepted that.
    pub sent_at: DateTime<Utc>,
    /// All attributes as of that version.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub attributes: Attributes,
}

/// What happened to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum EventType {
    /// It is new; attributes merge if it is known after all.
    #[serde(rename = "record.created")]
    Created,
    /// Attributes merge; an unknown record is created.
    #[serde(rename = "record.updated")]
    Updated,
    /// The attributes are all there are.
    #[serde(rename = "record.replaced")]
    Replaced,
    /// It is gone.
    #[serde(rename = "record.deleted")]
    Deleted,
    /// Urgent; attributes merge.
    #[serde(rename = "attribute.update")]
    AttributeUpdate,
    /// Urgent; attributes merge.
    #[serde(rename = "attribute.delta_update")]
    AttributeDeltaUpdate,
    /// Urgent; attributes merge.
    #[serde(rename = "metadata.update")]
    MetadataUpdate,
    /// Urgent; attributes merge.
    #[serde(rename = "metadata.single_update")]
    MetadataSingleUpdate,
}

impl EventType {
    /// All.
    pub const ALL: [Self; 8] = [
        Self::Created,
        Self::Updated,
        Self::Replaced,
        Self::Deleted,
        Self::AttributeUpdate,
        Self::AttributeDeltaUpdate,
        Self::MetadataUpdate,
        Self::MetadataSingleUpdate,
    ];

    /// As it is written on the wire; also the `job_type` of the job it makes.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "record.created",
            Self::Updated => "record.updated",
            Self::Replaced => "record.replaced",
            Self::Deleted => "record.deleted",
            Self::AttributeUpdate => "attribute.update",
            Self::AttributeDeltaUpdate => "attribute.delta_update",
            Self::MetadataUpdate => "metadata.update",
            Self::MetadataSingleUpdate => "metadata.single_update",
        }
    }

    /// Whether it goes before everything that is not urgent.
    #[must_use]
    pub fn is_urgent(self) -> bool {
        matches!(
            self,
            Self::AttributeUpdate
                | Self::AttributeDeltaUpdate
                | Self::MetadataUpdate
                | Self::MetadataSingleUpdate
        )
    }
}

impl std::str::FromStr for EventType {
    type Err = UnknownEventType;
    fn from_str(text: &str) -> Result<Self, UnknownEventType> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or(UnknownEventType)
    }
}

/// A type of event that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be record.created, record.updated, record.replaced, record.deleted, attribute.update, \
     attribute.delta_update, metadata.update or metadata.single_update"
)]
pub struct UnknownEventType;

/// One change of one record, as `POST /events` takes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Event {
    /// Whose record.
    pub app_id: AppId,
    /// What happened.
    #[serde(rename = "type")]
    pub event_type: EventType,
    /// 1 to 255 characters.
    pub record_type: String,
    /// 1 to 255 characters.
    pub record_id: String,
    /// A null value is a value; a key is taken away by `record.replaced` without it. Ignored in `record.deleted`.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub attributes: Attributes,
    /// When it happened at the source. An event does not overwrite, attribute by attribute, what another one set that occurred later; a deletion
    /// that occurred before anything the record has is left out. An event without it always applies; a time yet to come counts as now.
    #[serde(default, deserialize_with = "moment::optional")]
    pub occurred_at: Option<DateTime<Utc>>,
    /// 1 to 255 characters; made when absent.
    #[serde(default)]
    pub correlation_id: Option<String>,
    /// The sender's id of the event, 1 to 255 characters: another event of the app with this id changes nothing for 24 hours
    /// (`HEADGATE_EVENT_ID_RETENTION`).
    #[serde(default)]
    pub id: Option<String>,
    /// That of the request it came with.
    #[serde(skip)]
    pub trace: Option<TraceContext>,
}

/// What types and ids of records are, in words.
pub const RECORD_KEY: &str = "must be 1 to 255 characters without control characters, those of text direction among them, and neither . nor ..";

/// The type or the id of a record. Both are steps of the path that `rest` sends to, where `.` and `..` name no record.
#[must_use]
pub fn is_record_key(key: &str) -> bool {
    is_key(key) && key != "." && key != ".."
}

impl Event {
    /// # Errors
    /// Every fault, by field.
    pub fn check(&self) -> Result<(), Faults> {
        let mut faults = Faults::default();
        faults.require(is_record_key(&self.record_type), "/record_type", RECORD_KEY);
        faults.require(is_record_key(&self.record_id), "/record_id", RECORD_KEY);
        faults.require(self.correlation_id.as_deref().is_none_or(is_key), "/correlation_id", KEY);
        faults.require(self.id.as_deref().is_none_or(is_key), "/id", KEY);
        for (name, value) in &self.attributes {
            if name.contains('\0') {
                faults.add("/attributes", "has a key with a NUL character (\\u0000)");
            } else if let Err(fault) = json::check(value) {
                faults.add(format!("/attributes/{}{}", json::escape(name), fault.pointer), fault.detail);
            }
        }
        faults.into_result()
    }
}

/// What became of a request's events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Accepted {
    /// Events taken in.
    pub accepted: i64,
    /// Events that changed their record.
    pub records_changed: i64,
    /// New jobs.
    pub jobs_created: i64,
    /// Changes folded into a job that waits.
    pub jobs_coalesced: i64,
    /// Events that said what is so already.
    pub unchanged: i64,
    /// Events that were accepted before, by their `id`: they changed nothing.
    #[serde(default)]
    pub repeated: i64,
    /// Events that were left out, or some of their attributes, because another one occurred later (`occurred_at`).
    #[serde(default)]
    pub stale: i64,
}
