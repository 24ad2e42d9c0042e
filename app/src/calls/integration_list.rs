//! The list of integrations, and bulk actions on them.

use super::error::{CallError, FormRefused};
use super::json::Json;
use crate::forms::IntegrationBulk;
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::views::integration_list::{BulkQuestion, IntegrationList};

/// The integrations that the page's query string asks for.
#[server(prefix = "/console", endpoint = "integrations", input = GetUrl, output = Json)]
pub async fn list_integrations(query: String) -> Result<IntegrationList, CallError> {
    use crate::server::{actor, context};
    use crate::state::integration_query;
    use crate::state::page_url::PageUrl;
    use service::permission;
    let actor = actor::allowed::<permission::OpenConsole>()?;
    let query = integration_query::parse(&PageUrl::parse(&format!("/?{query}")));
    Ok(context::current()?.headgate.integration_list(&actor, &query).await?)
}

/// The integrations that the query string selects, by id or by filter.
#[server(prefix = "/console", endpoint = "integrations-question", input = GetUrl, output = Json)]
pub async fn ask_integrations(query: String) -> Result<BulkQuestion, CallError> {
    use crate::server::{actor, context};
    use crate::state::integration_query;
    use crate::state::page_url::PageUrl;
    use service::permission;
    let actor = actor::allowed::<permission::Configure>()?;
    let selection = integration_query::selection(&PageUrl::parse(&format!("/?{query}")));
    Ok(context::current()?.headgate.integration_bulk_question(&actor, &selection).await?)
}

/// Pauses or resumes the integrations, or sets their limit.
#[server(prefix = "/console", endpoint = "bulk-integrations", output = Json)]
pub async fn bulk_integrations(bulk: IntegrationBulk, back: String) -> Result<(), FormRefused> {
    use crate::server::{actor, context, integration_forms, redirect};
    use crate::state::integration_query;
    use crate::state::page_url::PageUrl;
    use service::permission;
    redirect::answer(&back, async {
        let actor = actor::allowed::<permission::Configure>()?;
        let selection = integration_query::selection(&PageUrl::parse(&format!("/?{}", bulk.query)));
        let change = integration_forms::bulk_change(&bulk)?;
        let headgate = context::current()?.headgate;
        let action = change.0;
        let bulk = headgate.confirmed_integration_bulk(&actor, &selection, bulk.matched, change).await?;
        Ok(integration_forms::outcome(action, &bulk))
    })
    .await
}
