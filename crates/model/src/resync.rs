//! Re-syncs: sending an integration its catalog again.

use crate::{
    id::{AppId, BatchId, IntegrationId, ResyncId},
    integration::KEY,
    integration::is_key,
    limits,
    problem::Faults,
};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// What is sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ResyncMode {
    /// Every record, whole.
    #[default]
    Full,
    /// Only records of which the integration does not have the newest version; each of them whole.
    Changed,
}

impl ResyncMode {
    /// As it is written on the wire and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Changed => "changed",
        }
    }
}

impl std::str::FromStr for ResyncMode {
    type Err = crate::integration::UnknownName;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Full, Self::Changed]
            .into_iter()
            .find(|mode| mode.as_str() == text)
            .ok_or(crate::integration::UnknownName)
    }
}

/// `POST /integrations/{id}/resync`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewResync {
    /// Absent: all types the integration is interested in.
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

/// What can be done about a re-sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResyncStep {
    /// Makes no further jobs until resumed, and holds those that wait.
    Pause,
    /// Lets it go on where it stopped.
    Resume,
    /// Calls it off, its waiting jobs too.
    Cancel,
}

impl ResyncStep {
    /// As a form says it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Cancel => "cancel",
        }
    }
}

/// Where a re-sync stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ResyncState {
    /// Jobs are made and sent.
    Running,
    /// No further jobs are made, and those that wait are held until it is resumed. A record that changes meanwhile is sent all the same.
    Paused,
    /// Every job came to its end.
    Completed,
    /// Called off: its waiting jobs too.
    Cancelled,
}

impl ResyncState {
    /// As it is written on the wire and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
        }
    }
}

impl std::str::FromStr for ResyncState {
    type Err = crate::integration::UnknownName;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Running, Self::Paused, Self::Completed, Self::Cancelled]
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or(crate::integration::UnknownName)
    }
}

/// A re-sync and how far it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Resync {
    /// UUIDv7.
    pub id: ResyncId,
    /// Whose it is.
    pub app_id: AppId,
    /// For which integration.
    pub integration_id: IntegrationId,
    /// The batch its jobs are items of.
    pub batch_id: BatchId,
    /// Null: all types.
    pub record_type: Option<String>,
    /// What is sent again.
    pub mode: ResyncMode,
    /// Where it stands.
    pub state: ResyncState,
    /// Jobs so far; final once the catalog was read to its end.
    pub total: i64,
    /// Jobs that completed.
    pub done: i64,
    /// Jobs that became dead letters.
    pub failed: i64,
    /// Who asked.
    pub requested_by: String,
    /// When it was asked for.
    pub created_at: DateTime<Utc>,
    /// When the first job was made.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// At the pace so far; null when that says nothing, and while it is paused.
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
