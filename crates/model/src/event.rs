//! Events, which change records, and the result of accepting them.

use crate::attributes::Attributes;
use crate::id::AppId;
use crate::key::{KEY, RECORD_KEY, is_key, is_record_key};
use crate::problem::Faults;
use crate::trace::TraceContext;
use crate::unknown_name::UnknownName;
use crate::{json, moment};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// What happened to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, VariantArray)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum EventType {
    /// It is new; if it exists already, attributes are merged.
    #[serde(rename = "record.created")]
    Created,
    /// Attributes are merged; an unknown record is created.
    #[serde(rename = "record.updated")]
    Updated,
    /// The attributes replace all others.
    #[serde(rename = "record.replaced")]
    Replaced,
    /// It was deleted.
    #[serde(rename = "record.deleted")]
    Deleted,
    /// Urgent; attributes are merged.
    #[serde(rename = "attribute.update")]
    AttributeUpdate,
    /// Urgent; attributes are merged.
    #[serde(rename = "attribute.delta_update")]
    AttributeDeltaUpdate,
    /// Urgent; attributes are merged.
    #[serde(rename = "metadata.update")]
    MetadataUpdate,
    /// Urgent; attributes are merged.
    #[serde(rename = "metadata.single_update")]
    MetadataSingleUpdate,
}

impl EventType {
    /// All.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// As it is written on the wire; also the `job_type` of its job.
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

    /// Whether it comes before everything that is not urgent.
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
    type Err = UnknownName;
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == text).ok_or(UnknownName)
    }
}

/// One change of one record, as `POST /events` takes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Event {
    /// The record's app.
    pub app_id: AppId,
    /// What happened.
    #[serde(rename = "type")]
    pub event_type: EventType,
    /// 1 to 255 characters.
    pub record_type: String,
    /// 1 to 255 characters.
    pub record_id: String,
    /// Null is a value; to remove a key, send `record.replaced` without it. Ignored in `record.deleted`.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub attributes: Attributes,
    /// When it happened at the source. An attribute is not overwritten if another event set it that occurred later; a deletion is ignored if it
    /// occurred before any change of the record. An event without it always applies; a time in the future counts as now.
    #[serde(default, deserialize_with = "moment::optional")]
    pub occurred_at: Option<DateTime<Utc>>,
    /// 1 to 255 characters; generated when absent.
    #[serde(default)]
    pub correlation_id: Option<String>,
    /// The sender's id of the event, 1 to 255 characters: for 24 hours, another event of the app with this id changes nothing
    /// (`HEADGATE_EVENT_ID_RETENTION`).
    #[serde(default)]
    pub id: Option<String>,
    /// Trace context of the request.
    #[serde(skip)]
    pub trace: Option<TraceContext>,
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

/// Result of accepting events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Accepted {
    /// Accepted events.
    pub accepted: i64,
    /// Events that changed their record.
    pub records_changed: i64,
    /// New jobs.
    pub jobs_created: i64,
    /// Changes folded into waiting jobs.
    pub jobs_coalesced: i64,
    /// Events whose record already had these attributes.
    pub unchanged: i64,
    /// Events whose `id` was accepted before: they changed nothing.
    #[serde(default)]
    pub repeated: i64,
    /// Events that were ignored, entirely or in some attributes, because another event occurred later (`occurred_at`).
    #[serde(default)]
    pub stale: i64,
}
