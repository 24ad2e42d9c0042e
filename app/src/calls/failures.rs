//! Failures by cause: the list, one group, its mark and its note. A retry of a group is a bulk action, see [`super::bulk`].

use super::error::{CallError, FormRefused};
use super::json::Json;
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::failure::CauseId;
use model::id::{AppId, IntegrationId};
use model::views::failures::FailureList;

/// The groups that the page's query string asks for.
#[server(prefix = "/console", endpoint = "failures", input = GetUrl, output = Json)]
pub async fn list_failures(query: String) -> Result<FailureList, CallError> {
    use crate::server::{actor, context};
    use crate::state::failure_query::FailureQuery;
    use service::permission;
    let actor = actor::allowed::<permission::OpenConsole>()?;
    let asked = FailureQuery::parse(&query).map_err(|error| CallError::Invalid(error.to_string()))?;
    Ok(context::current()?.headgate.failure_list(&actor, &asked.filter, asked.page, asked.group).await?)
}

/// Snoozes a group for some hours, marks it as fixed, or reopens it.
#[server(prefix = "/console", endpoint = "mark-failure", output = Json)]
pub async fn mark_failure(
    fingerprint: CauseId,
    mark: String,
    #[server(default)] hours: Option<i64>,
    back: String,
) -> Result<(), FormRefused> {
    use crate::server::{actor, context, redirect, steps};
    use service::permission;
    redirect::answer(&back, async {
        let actor = actor::allowed::<permission::SteerJobs>()?;
        let step = steps::of_failure(&mark, hours)?;
        context::current()?.headgate.mark_failure(&actor, fingerprint, step).await?;
        Ok(steps::failure_notice(step).into())
    })
    .await
}

/// Publishes a note on the status of the affected integrations, for their apps; an empty note removes it.
#[server(prefix = "/console", endpoint = "tell-failure", output = Json)]
pub async fn publish_failure_note(
    fingerprint: CauseId,
    #[server(default)] note: String,
    #[server(default)] app_id: Option<AppId>,
    #[server(default)] integration_id: Option<IntegrationId>,
    back: String,
) -> Result<(), FormRefused> {
    use crate::components::{Flash, Outcome};
    use crate::server::{actor, context, redirect};
    use model::failure::SetFailureNote;
    use service::permission;
    redirect::answer(&back, async {
        let actor = actor::allowed::<permission::SteerJobs>()?;
        let note = Some(note.trim().to_owned()).filter(|note| !note.is_empty());
        let flash = if note.is_some() { Flash::NotePublished } else { Flash::NoteWithdrawn };
        let note = SetFailureNote { note, app_id, integration_id };
        let published = context::current()?.headgate.set_failure_note(&actor, fingerprint, note).await?;
        Ok(Outcome { n: published.integrations, ..flash.into() })
    })
    .await
}
