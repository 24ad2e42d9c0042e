//! The records page: what a search text stands for, and every job about it.

use super::{error::CallError, json::Json};
use chrono::{DateTime, Utc};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::trail::Trail;
use model::views::names::Names;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrailPage {
    /// None while nothing was searched.
    pub trail: Option<Trail>,
    /// Names of the integrations of its jobs.
    pub names: Names,
    pub as_of: DateTime<Utc>,
}

/// The trail that the page's query string asks for.
#[server(prefix = "/console", endpoint = "trail", input = GetUrl, output = Json)]
pub async fn load_trail(query: String) -> Result<TrailPage, CallError> {
    use crate::{
        server::{actor, context},
        state::{trail_query, url_filters},
    };
    use model::filter::JobFilter;
    use service::permission;
    let scope = actor::allowed::<permission::OpenConsole>()?.scope();
    let bad = |error: url_filters::BadQuery| CallError::Invalid(error.to_string());
    let Some(asked) = trail_query::parse(&query).map_err(bad)? else {
        return Ok(TrailPage { trail: None, names: Names::default(), as_of: Utc::now() });
    };
    let page = url_filters::page(&query).map_err(bad)?;
    let cx = context::current()?;
    let mut trail = delivery::trail(&cx.pool, scope, &asked, page).await?;
    // Payloads and attributes may have a megabyte each; only the pages of jobs show them.
    trail.items.iter_mut().for_each(|item| item.job.payload = None);
    trail.apps.iter_mut().flat_map(|app| &mut app.failures).for_each(|letter| letter.payload = None);
    trail.records.iter_mut().for_each(|record| record.record.record.attributes.clear());
    let (mut trail, _) = cx.delivery.masked(trail).await?;
    if !trail.apps.is_empty() {
        trail = trail.with_gauges(&*cx.snapshot().await?);
    }
    let names = cx.names(scope, trail.integration_ids(), &JobFilter::default()).await?;
    Ok(TrailPage { trail: Some(trail), names, as_of: Utc::now() })
}
