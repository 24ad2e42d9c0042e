//! Rate limits: the wall of them, and one integration's.

use super::{error::CallError, json::Json};
use chrono::{DateTime, TimeDelta, Utc};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::{
    id::{AppId, IntegrationId},
    integration::Integration,
    limit_use::{LimitStep, LimitUse, LimitWindow},
};
use serde::{Deserialize, Serialize};

/// Rows on a page of the wall: each carries an hour of minutes.
pub const ROWS: usize = 50;

/// One page of the wall.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitWall {
    /// Those with the most waiting behind them first.
    pub rows: Vec<LimitRow>,
    /// How many fit the filter.
    pub matched: i64,
    /// How many there are.
    pub total: i64,
    /// Which page, from 1.
    pub page: usize,
    /// How long back the cells go.
    pub window: LimitWindow,
    /// The integration whose limits are being edited.
    pub edited: Option<Integration>,
    /// The moment of all that.
    pub as_of: DateTime<Utc>,
}

/// One limit with those who share it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitRow {
    /// Its key.
    pub key: String,
    /// Whose.
    pub app_id: AppId,
    /// Its app's name.
    pub app_name: String,
    /// What integrations share it by; none: it is one integration's own.
    pub shared_key: Option<String>,
    /// The integrations that pass it, by name.
    pub members: Vec<(IntegrationId, String)>,
    /// Requests allowed per window.
    pub requests: i32,
    /// Length of the window.
    pub per_seconds: i32,
    /// Requests in the current window.
    pub used: i32,
    /// They asked for quiet until then.
    pub held_until: Option<DateTime<Utc>>,
    /// Pending jobs behind it.
    pub backlog: i64,
    /// Pending jobs, and those that wait for another attempt.
    pub outstanding: i64,
    /// Jobs that came in the last minute; none: not known.
    pub accepted_per_minute: Option<i64>,
    /// Until nothing is left behind it; none: not to be said.
    pub eta_seconds: Option<i64>,
    /// Its use over time.
    pub cells: Cells,
}

/// A [`LimitUse`] as it travels: a wall has thousands of steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cells {
    begin: i64,
    step_seconds: i32,
    /// Given, allowed, refused.
    steps: Vec<(i64, f32, i64)>,
    edited_at: Vec<DateTime<Utc>>,
}

impl From<LimitUse> for Cells {
    fn from(used: LimitUse) -> Self {
        Self {
            begin: used.steps.first().map_or(0, |step| step.at.timestamp()),
            step_seconds: used.step_seconds,
            steps: used.steps.iter().map(|step| (step.given, step.allowed as f32, step.refused)).collect(),
            edited_at: used.edited_at,
        }
    }
}

impl From<&Cells> for LimitUse {
    fn from(cells: &Cells) -> Self {
        let begin = DateTime::from_timestamp(cells.begin, 0).unwrap_or_default();
        let length = TimeDelta::seconds(cells.step_seconds.into());
        let steps = cells.steps.iter().zip(0..).map(|((given, allowed, refused), n)| LimitStep {
            at: begin + length * n,
            given: *given,
            allowed: f64::from(*allowed),
            refused: *refused,
        });
        Self { step_seconds: cells.step_seconds, steps: steps.collect(), edited_at: cells.edited_at.clone() }
    }
}

/// The wall that an address asks for: `window`, `name`, `page`, `edit`.
#[server(prefix = "/console", endpoint = "rate-limits", input = GetUrl, output = Json)]
pub async fn load_rate_limits(query: String) -> Result<LimitWall, CallError> {
    use crate::{
        server::{actor, context, limit_wall},
        state::page_url::PageUrl,
    };
    use model::rules::permission::Permission;
    let actor = actor::allowed(Permission::ReadDeployment)?;
    let cx = context::current()?;
    limit_wall::load(&cx, &actor, &PageUrl::parse(&format!("/?{query}"))).await
}

/// The limits of one integration over time, one after the other.
#[server(prefix = "/console", endpoint = "limit-use", input = GetUrl, output = Json)]
pub async fn load_limit_use(id: IntegrationId, window: LimitWindow) -> Result<Vec<LimitRow>, CallError> {
    use crate::server::{actor, context, limit_wall};
    use model::rules::permission::Permission;
    let actor = actor::allowed(Permission::OpenConsole)?;
    let cx = context::current()?;
    limit_wall::of_integration(&cx, actor.scope(), id, window).await
}
