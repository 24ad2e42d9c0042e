//! The list of integrations, and what is done to many of them.

use super::{
    error::{CallError, FormRefused},
    json::Json,
};
use chrono::{DateTime, Utc};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::{id::AppId, integration_bulk::IntegrationBulkAction, stats::IntegrationGauge};
use serde::{Deserialize, Serialize};

/// Rows of a page.
pub const ROWS: usize = 100;

/// One page of integrations, or groups of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntegrationList {
    /// In the order asked for; none where they are grouped.
    pub rows: Vec<IntegrationRow>,
    /// Added up; none where they are not grouped.
    pub groups: Vec<IntegrationGroup>,
    /// How many groups there are.
    pub groups_total: i64,
    /// How many integrations fit.
    pub matched: i64,
    /// How many there are.
    pub total: i64,
    /// Of how many apps.
    pub apps_total: i64,
    /// How many would fit with each state chosen, in the order of `Only::ALL`.
    pub counts: Vec<i64>,
    /// The apps to choose from, by name; none where they are too many to choose from.
    pub apps: Vec<(AppId, String)>,
    /// The moment of the gauges.
    pub as_of: DateTime<Utc>,
}

/// One integration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntegrationRow {
    /// Its gauges.
    pub gauge: IntegrationGauge,
    /// Its backlog of the last hour, a point a minute, oldest first.
    pub backlogs: Vec<i64>,
}

/// Some integrations added up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntegrationGroup {
    /// The parameter and value that narrow the list to it.
    pub narrowed: (String, String),
    /// What they have in common.
    pub name: String,
    /// How many.
    pub integrations: i64,
    /// How many of them somebody should look at.
    pub need_attention: i64,
    /// Pending jobs.
    pub backlog: i64,
    /// Jobs that came in the last minute; none: not known of all.
    pub accepted_per_minute: Option<i64>,
    /// Completed in the last minute.
    pub delivered_per_minute: i64,
    /// Failed attempts in the last minute.
    pub failed_per_minute: i64,
    /// Jobs given up.
    pub dead_letters: i64,
    /// Of the oldest claimable job.
    pub oldest_pending_age_seconds: Option<i64>,
}

/// The integrations an address asks for.
#[server(prefix = "/console", endpoint = "integrations", input = GetUrl, output = Json)]
pub async fn list_integrations(query: String) -> Result<IntegrationList, CallError> {
    use crate::{
        server::{actor, context, integration_list},
        state::{integration_query::IntegrationQuery, page_url::PageUrl},
    };
    use model::rules::permission::Permission;
    actor::allowed(Permission::OpenConsole)?;
    let query = IntegrationQuery::of(&PageUrl::parse(&format!("/?{query}")));
    integration_list::load(&context::current()?, &query).await
}

/// What a bulk action would be about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulkQuestion {
    /// How many.
    pub matched: i64,
    /// The first few by name.
    pub names: Vec<String>,
}

/// The integrations that an address ticks or fits.
#[server(prefix = "/console", endpoint = "integrations-question", input = GetUrl, output = Json)]
pub async fn ask_integrations(query: String) -> Result<BulkQuestion, CallError> {
    use crate::server::{actor, context, integration_list};
    use model::rules::permission::Permission;
    actor::allowed(Permission::Configure)?;
    let chosen = integration_list::chosen(&context::current()?, &query).await?;
    let matched = i64::try_from(chosen.len()).unwrap_or(i64::MAX);
    Ok(BulkQuestion { matched, names: chosen.into_iter().take(5).map(|(_, name)| name).collect() })
}

/// What is done to many, as the question sends it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct IntegrationBulk {
    /// What.
    pub action: IntegrationBulkAction,
    /// The address of the question: it ticks or fits.
    pub query: String,
    /// The count it named.
    pub matched: i64,
    /// With a limit: requests; empty takes the limit away.
    #[serde(default)]
    pub requests: String,
    /// With a limit: in so many seconds.
    #[serde(default)]
    pub per_seconds: String,
}

/// Pauses, resumes or limits them.
#[server(prefix = "/console", endpoint = "bulk-integrations", output = Json)]
pub async fn bulk_integrations(bulk: IntegrationBulk, back: String) -> Result<(), FormRefused> {
    use crate::server::{actor, context, integration_list, redirect};
    use model::rules::permission::Permission;
    redirect::answer(&back, async {
        let actor = actor::allowed(Permission::Configure)?;
        integration_list::run(&context::current()?, &actor, bulk).await
    })
    .await
}
