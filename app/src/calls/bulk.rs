//! Bulk actions on jobs and dead letters: the question with its count, and the action.

use super::error::{CallError, FormRefused};
use super::json::Json;
use crate::forms::BulkOptions;
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::operation::{BulkAction, BulkSubject};
use model::views::bulk::BulkPreview;

/// Counts what a bulk action would change.
#[server(prefix = "/console", endpoint = "preview", input = GetUrl, output = Json)]
pub async fn preview(
    subject: BulkSubject,
    action: BulkAction,
    query: String,
) -> Result<BulkPreview, CallError> {
    use crate::server::{actor, bulk, context};
    use service::permission;
    let actor = actor::allowed::<permission::SteerJobs>()?;
    let wanted = bulk::asked(action, &query)?;
    Ok(context::current()?.headgate.bulk_preview(&actor, subject, wanted).await?)
}

/// Requeues, cancels or purges everything that the query string matches, or the selected rows.
#[server(prefix = "/console", endpoint = "bulk", output = Json)]
pub async fn bulk(
    subject: BulkSubject,
    action: BulkAction,
    #[server(default)] ids: Vec<uuid::Uuid>,
    #[server(default)] query: String,
    #[server(default)] matched: Option<i64>,
    #[server(default)] how: BulkOptions,
    back: String,
) -> Result<(), FormRefused> {
    use crate::server::{bulk, redirect};
    let form = bulk::BulkForm { action, ids, query, matched, how };
    redirect::answer(&back, bulk::run(subject, form)).await
}
