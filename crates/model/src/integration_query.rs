//! Which integrations a list shows, in which order.

use crate::id::{AppId, IntegrationId};
use crate::integration::{IntegrationState, IntegrationType};
use serde::{Deserialize, Serialize};

/// The filter of `GET /integrations`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct IntegrationFilter {
    /// Only integrations of this app.
    pub app_id: Option<AppId>,
    /// Only integrations in this state.
    pub state: Option<IntegrationState>,
}

/// Filter, order and grouping of the console's list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntegrationQuery {
    /// Searched in names; lower case.
    pub text: String,
    /// As the address has it; empty: all apps. Text that is no id matches nothing.
    pub app_id: String,
    /// Of one type.
    pub kind: Option<IntegrationType>,
    /// The filter by state.
    pub only: Only,
    /// The column it is sorted by.
    pub order: Order,
    /// Names from z to a, numbers from the smallest.
    pub is_reversed: bool,
    /// Shows groups instead of integrations.
    pub group: Option<Group>,
    /// From 1.
    pub page: usize,
}

impl IntegrationQuery {
    /// Whether it filters anything.
    #[must_use]
    pub fn narrows(&self) -> bool {
        !self.text.is_empty() || !self.app_id.is_empty() || self.kind.is_some() || self.only != Only::All
    }
}

/// The integrations that a bulk action is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntegrationSelection {
    /// Selected one by one; may be empty.
    Ids(Vec<IntegrationId>),
    /// All that match the filter of the list.
    Matching(IntegrationQuery),
}

/// The filter by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Only {
    /// Whatever the state.
    #[default]
    All,
    /// With a problem.
    Attention,
    /// With jobs that wait, run or are to be retried.
    Working,
    /// Paused or disabled.
    Paused,
}

impl Only {
    /// All, in the order the console offers them.
    pub const ALL: [Self; 4] = [Self::All, Self::Attention, Self::Working, Self::Paused];

    /// The word in the address.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::All => "",
            Self::Attention => "attention",
            Self::Working => "working",
            Self::Paused => "paused",
        }
    }
}

/// What the list is sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Name of the integration.
    Name,
    /// Severity of its health.
    #[default]
    State,
    /// Pending jobs.
    Backlog,
    /// Time until the backlog is empty.
    Eta,
    /// Jobs accepted in the last minute.
    Accepted,
    /// Jobs completed in the last minute.
    Delivered,
    /// Used share of the tightest limit.
    Limit,
    /// 95th percentile of the latency.
    P95,
    /// Share of failed attempts.
    Failing,
    /// Share of answers 429.
    Refused,
    /// Dead letters.
    Dead,
    /// Age of the oldest claimable job.
    Oldest,
}

impl Order {
    /// In the order of the columns.
    pub const ALL: [Self; 12] = [
        Self::Name,
        Self::State,
        Self::Backlog,
        Self::Eta,
        Self::Accepted,
        Self::Delivered,
        Self::Limit,
        Self::P95,
        Self::Failing,
        Self::Refused,
        Self::Dead,
        Self::Oldest,
    ];

    /// The word in the address.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::State => "state",
            Self::Backlog => "backlog",
            Self::Eta => "eta",
            Self::Accepted => "in",
            Self::Delivered => "out",
            Self::Limit => "limit",
            Self::P95 => "p95",
            Self::Failing => "failing",
            Self::Refused => "429",
            Self::Dead => "dead",
            Self::Oldest => "oldest",
        }
    }
}

/// What the list is grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// The app.
    App,
    /// The type of the integrations.
    Type,
}

impl Group {
    /// Both.
    pub const ALL: [Self; 2] = [Self::App, Self::Type];

    /// The word in the address.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::App => "app",
            Self::Type => "type",
        }
    }
}
