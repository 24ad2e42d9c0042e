//! The records page: what a search text stands for, and every job about it.

use super::{error::CallError, json::Json};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::views::trail::TrailPage;

/// The trail that the page's query string asks for.
#[server(prefix = "/console", endpoint = "trail", input = GetUrl, output = Json)]
pub async fn load_trail(query: String) -> Result<TrailPage, CallError> {
    use crate::server::{actor, context};
    use crate::state::{trail_query, url_filters};
    use chrono::Utc;
    use service::permission;
    let actor = actor::allowed::<permission::OpenConsole>()?;
    let bad = |error: url_filters::BadQuery| CallError::Invalid(error.to_string());
    let Some(asked) = trail_query::parse(&query).map_err(bad)? else {
        return Ok(TrailPage::without_search(Utc::now()));
    };
    let page = url_filters::page(&query).map_err(bad)?;
    Ok(context::current()?.headgate.trail_page(&actor, &asked, page).await?)
}
