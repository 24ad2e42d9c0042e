//! Rate limits: the list with their use.

use super::{error::CallError, json::Json};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::views::rate_limits::LimitList;

/// The page that the query string asks for: `window`, `name`, `page`, `edit`.
#[server(prefix = "/console", endpoint = "rate-limits", input = GetUrl, output = Json)]
pub async fn load_rate_limits(query: String) -> Result<LimitList, CallError> {
    use crate::server::{actor, context, limit_query};
    use crate::state::page_url::PageUrl;
    use service::permission;
    let actor = actor::allowed::<permission::ReadDeployment>()?;
    let query = limit_query::parse(&PageUrl::parse(&format!("/?{query}")))?;
    Ok(context::current()?.headgate.limit_list(&actor, &query).await?)
}
