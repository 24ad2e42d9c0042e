//! The list of integrations, and bulk actions on them.

use super::{
    error::{CallError, FormRefused},
    json::Json,
};
use chrono::{DateTime, Utc};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::{id::AppId, integration_bulk::IntegrationBulkAction, stats::IntegrationGauge};
use serde::{Deserialize, Serialize};

pub const PAGE_ROWS: usize = 100;

/// One page of integrations, or groups of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntegrationList {
    /// Empty when the list is grouped.
    pub rows: Vec<IntegrationRow>,
    /// Empty when the list is not grouped.
    pub groups: Vec<IntegrationGroup>,
    pub groups_total: i64,
    pub matched: i64,
    /// Integrations without any filter.
    pub total: i64,
    /// Apps without any filter.
    pub apps_total: i64,
    /// How many would match with each state, in the order of `Only::ALL`.
    pub counts: Vec<i64>,
    /// The apps to choose from, by name; empty when there are too many.
    pub apps: Vec<(AppId, String)>,
    pub as_of: DateTime<Utc>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntegrationRow {
    pub gauge: IntegrationGauge,
    /// Its backlog in the last hour, a point a minute, oldest first.
    pub backlogs: Vec<i64>,
}

/// The totals of several integrations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntegrationGroup {
    /// The parameter and value that filter the list by this group.
    pub narrowed: (String, String),
    /// The app's name, or the type.
    pub name: String,
    pub integrations: i64,
    /// How many of them need attention.
    pub need_attention: i64,
    pub backlog: i64,
    /// Jobs accepted in the last minute; none when it is not known for all of them.
    pub accepted_per_minute: Option<i64>,
    /// Completed in the last minute.
    pub delivered_per_minute: i64,
    /// Failed attempts in the last minute.
    pub failed_per_minute: i64,
    pub dead_letters: i64,
    /// Age of the oldest claimable job.
    pub oldest_pending_age_seconds: Option<i64>,
}

/// The integrations that the page's query string asks for.
#[server(prefix = "/console", endpoint = "integrations", input = GetUrl, output = Json)]
pub async fn list_integrations(query: String) -> Result<IntegrationList, CallError> {
    use crate::{
        server::{actor, context, integration_list},
        state::{integration_query::IntegrationQuery, page_url::PageUrl},
    };
    use service::permission;
    actor::allowed::<permission::OpenConsole>()?;
    let query = IntegrationQuery::of(&PageUrl::parse(&format!("/?{query}")));
    integration_list::load(&context::current()?, &query).await
}

/// What a bulk action would change, for its confirmation dialog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulkQuestion {
    pub matched: i64,
    /// The first few by name.
    pub names: Vec<String>,
}

/// The integrations that the query string selects, by id or by filter.
#[server(prefix = "/console", endpoint = "integrations-question", input = GetUrl, output = Json)]
pub async fn ask_integrations(query: String) -> Result<BulkQuestion, CallError> {
    use crate::server::{actor, context, integration_list};
    use service::permission;
    actor::allowed::<permission::Configure>()?;
    let chosen = integration_list::chosen(&context::current()?, &query).await?;
    let matched = i64::try_from(chosen.len()).unwrap_or(i64::MAX);
    Ok(BulkQuestion { matched, names: chosen.into_iter().take(5).map(|(_, name)| name).collect() })
}

/// A bulk action as the confirmation dialog sends it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct IntegrationBulk {
    pub action: IntegrationBulkAction,
    /// The query string of the dialog, which selects by id or by filter.
    pub query: String,
    /// The count that the dialog showed.
    pub matched: i64,
    /// With a limit: requests; empty removes the limit.
    #[serde(default)]
    pub requests: String,
    /// With a limit: the window.
    #[serde(default)]
    pub per_seconds: String,
}

/// Pauses or resumes the integrations, or sets their limit.
#[server(prefix = "/console", endpoint = "bulk-integrations", output = Json)]
pub async fn bulk_integrations(bulk: IntegrationBulk, back: String) -> Result<(), FormRefused> {
    use crate::server::{actor, context, integration_list, redirect};
    use service::permission;
    redirect::answer(&back, async {
        let actor = actor::allowed::<permission::Configure>()?;
        integration_list::run(&context::current()?, &actor, bulk).await
    })
    .await
}
