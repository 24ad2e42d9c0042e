//! Re-syncs: sending all records of an integration again.

use crate::id::{AppId, BatchId, IntegrationId, ResyncId};
use crate::key::{KEY, is_key};
use crate::limits;
use crate::problem::Faults;
use crate::unknown_name::UnknownName;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};

/// What is sent again.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, EnumString, IntoStaticStr,
)]
#[strum(serialize_all = "snake_case", parse_err_ty = UnknownName, parse_err_fn = UnknownName::of)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ResyncMode {
    /// All records, with all attributes.
    #[default]
    Full,
    /// Only records of which the integration does not have the newest version, with all attributes.
    Changed,
}

impl ResyncMode {
    /// As it is written on the wire and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// `POST /integrations/{id}/resync`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewResync {
    /// Absent: all types that the integration is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_type: Option<String>,
    /// Up to 1,000, together with `record_type`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_ids: Option<Vec<String>>,
    /// Default `full`.
    pub mode: ResyncMode,
}

impl NewResync {
    /// # Errors
    /// Every fault, by field.
    pub fn check(&self) -> Result<(), Faults> {
        let mut faults = Faults::default();
        faults.require(self.record_type.as_deref().is_none_or(is_key), "/record_type", KEY);
        if let Some(ids) = &self.record_ids {
            faults.require(
                self.record_type.is_some(),
                "/record_type",
                "is required together with record_ids",
            );
            faults.require(limits::ITEMS.contains(&ids.len()), "/record_ids", "must be 1 to 1,000 ids");
            for (index, _) in ids.iter().enumerate().filter(|(_, id)| !is_key(id)) {
                faults.add(format!("/record_ids/{index}"), KEY);
            }
        }
        faults.into_result()
    }
}

/// What can be done with a re-sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum ResyncStep {
    /// Creates no further jobs until resumed, and parks those that wait.
    Pause,
    /// Continues where it stopped.
    Resume,
    /// Cancels it and its waiting jobs.
    Cancel,
}

impl ResyncStep {
    /// As it is written in forms.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// State of a re-sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case", parse_err_ty = UnknownName, parse_err_fn = UnknownName::of)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ResyncState {
    /// Jobs are created and sent.
    Running,
    /// No further jobs are created, and those that wait are parked until it is resumed. Records that change meanwhile are still sent.
    Paused,
    /// All its jobs have ended.
    Completed,
    /// Cancelled, with its waiting jobs.
    Cancelled,
}

impl ResyncState {
    /// As it is written on the wire and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A re-sync and its progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Resync {
    /// UUIDv7.
    pub id: ResyncId,
    /// Its app.
    pub app_id: AppId,
    /// Its integration.
    pub integration_id: IntegrationId,
    /// The batch of its jobs.
    pub batch_id: BatchId,
    /// Null: all types.
    pub record_type: Option<String>,
    /// What is sent again.
    pub mode: ResyncMode,
    /// State of the re-sync.
    pub state: ResyncState,
    /// Jobs created so far; final once all records were read.
    pub total: i64,
    /// Jobs that completed.
    pub done: i64,
    /// Jobs that became dead letters.
    pub failed: i64,
    /// Who requested it.
    pub requested_by: String,
    /// When it was requested.
    pub created_at: DateTime<Utc>,
    /// When the first job was created.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// Estimated from the rate so far; null while that is unknown or the re-sync is paused.
    pub eta_seconds: Option<i64>,
}

/// `202` of `POST /integrations/{id}/resync`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ResyncStarted {
    /// The re-sync.
    pub resync_id: ResyncId,
    /// Its batch.
    pub batch_id: BatchId,
}
