//! Failures by cause: the list, one group, its mark and its note. A retry of a group is a bulk action, see [`super::jobs::bulk`].

use super::{
    error::{CallError, FormRefused},
    json::Json,
};
use chrono::{DateTime, Utc};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::views::choices::Choices;
use model::{
    failure::{CauseId, FailureDetail, FailureGroup},
    id::{AppId, IntegrationId},
    page::Page,
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailureList {
    /// Most jobs first.
    pub page: Page<FailureGroup>,
    /// How many groups are open with these filters; counted up to 1,000.
    pub open: i64,
    /// The group that is opened.
    pub group: Option<FailureDetail>,
    pub choices: Choices,
    pub as_of: DateTime<Utc>,
}

/// The groups that the page's query string asks for.
#[server(prefix = "/console", endpoint = "failures", input = GetUrl, output = Json)]
pub async fn list_failures(query: String) -> Result<FailureList, CallError> {
    use crate::{
        server::{actor, context},
        state::failure_query::FailureQuery,
    };
    use insight::store::failures;
    use service::permission;
    let scope = actor::allowed::<permission::OpenConsole>()?.scope();
    let asked = FailureQuery::parse(&query).map_err(|error| CallError::Invalid(error.to_string()))?;
    let cx = context::current()?;
    let page = failures::list(&cx.pool, scope, &asked.filter, asked.page).await?;
    let (page, _) = cx.delivery.masked(page).await?;
    let open = failures::count_open(&cx.pool, scope, &asked.filter).await?;
    let group = match asked.group {
        Some(cause) => match failures::detail(&cx.pool, scope, &asked.filter, cause).await {
            // When the opened group no longer exists, the list is shown without it.
            Err(queue::QueueError::NotFound) => None,
            found => Some(cx.delivery.masked(found?).await?.0),
        },
        None => None,
    };
    let choices = cx.choices(asked.filter.app_id, asked.filter.integration_id).await?;
    Ok(FailureList { page, open, group, choices, as_of: Utc::now() })
}

/// Snoozes a group for some hours, marks it as fixed, or reopens it.
#[server(prefix = "/console", endpoint = "mark-failure", output = Json)]
pub async fn mark_failure(
    fingerprint: CauseId,
    mark: String,
    #[server(default)] hours: Option<i64>,
    back: String,
) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, redirect},
    };
    use insight::store::failures::Mark;
    use model::failure::SnoozeFailure;
    use service::permission;
    redirect::answer(&back, async {
        let actor = actor::allowed::<permission::SteerJobs>()?;
        let (mark, flash) = match (mark.as_str(), hours) {
            ("fix", _) => (Mark::Fix, Flash::FailureFixed),
            ("reopen", _) => (Mark::Reopen, Flash::FailureReopened),
            ("snooze", Some(hours)) => {
                let now = Utc::now();
                let until = now + chrono::TimeDelta::hours(hours.clamp(0, 24 * 365));
                SnoozeFailure { until }
                    .check(now)
                    .map_err(|faults| CallError::Invalid(faults.to_string()))?;
                (Mark::Snooze(until), Flash::FailureSnoozed)
            }
            _ => return Err(CallError::Invalid("No action was selected.".to_owned())),
        };
        context::current()?.headgate.mark_failure(&actor, fingerprint, mark).await?;
        Ok(flash.into())
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
    use crate::{
        components::{Flash, Outcome},
        server::{actor, context, redirect},
    };
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
