//! Failures by cause: the list, one group, and what is said of it. Trying a group again is a bulk action, see [`super::jobs::bulk`].

use super::{
    choices::Choices,
    error::{CallError, FormRefused},
    json::Json,
};
use chrono::{DateTime, Utc};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::{
    failure::{CauseId, FailureDetail, FailureGroup},
    id::{AppId, IntegrationId},
    page::Page,
};
use serde::{Deserialize, Serialize};

/// One page of groups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailureList {
    /// Those with most jobs first.
    pub page: Page<FailureGroup>,
    /// How many groups are open with these filters; at most 1,000 are counted.
    pub open: i64,
    /// The group that is looked at.
    pub group: Option<FailureDetail>,
    /// To narrow it to.
    pub choices: Choices,
    /// The moment of the list.
    pub as_of: DateTime<Utc>,
}

/// The groups an address asks for.
#[server(prefix = "/console", endpoint = "failures", input = GetUrl, output = Json)]
pub async fn list_failures(query: String) -> Result<FailureList, CallError> {
    use crate::{
        server::{actor, context},
        state::failure_query::FailureQuery,
    };
    use model::rules::permission::Permission;
    use queue::store::failures;
    let scope = actor::allowed(Permission::OpenConsole)?.scope();
    let asked = FailureQuery::parse(&query).map_err(|error| CallError::Invalid(error.to_string()))?;
    let cx = context::current()?;
    let page = failures::list(&cx.pool, scope, &asked.filter, asked.page).await?;
    let (page, _) = cx.delivery.masked(page).await?;
    let open = failures::count_open(&cx.pool, scope, &asked.filter).await?;
    let group = match asked.group {
        Some(cause) => match failures::detail(&cx.pool, scope, &asked.filter, cause).await {
            // One that was looked at and is gone meanwhile is no reason to show nothing.
            Err(queue::QueueError::NotFound) => None,
            found => Some(cx.delivery.masked(found?).await?.0),
        },
        None => None,
    };
    let choices = cx.choices(asked.filter.app_id, asked.filter.integration_id).await?;
    Ok(FailureList { page, open, group, choices, as_of: Utc::now() })
}

/// Puts a group aside for some hours, says that it is mended, or neither any more.
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
    use model::{failure::SnoozeFailure, rules::permission::Permission};
    use queue::store::failures::Mark;
    redirect::answer(&back, async {
        let actor = actor::allowed(Permission::SteerJobs)?;
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
            _ => return Err(CallError::Invalid("Nothing was chosen.".to_owned())),
        };
        context::current()?.steering().mark_failure(&actor, fingerprint, mark).await?;
        Ok(flash.into())
    })
    .await
}

/// Tells the customers of those who are affected; an empty note takes back what they were told.
#[server(prefix = "/console", endpoint = "tell-failure", output = Json)]
pub async fn tell_failure(
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
    use model::{failure::TellFailure, rules::permission::Permission};
    redirect::answer(&back, async {
        let actor = actor::allowed(Permission::SteerJobs)?;
        let note = Some(note.trim().to_owned()).filter(|note| !note.is_empty());
        let flash = if note.is_some() { Flash::CustomersTold } else { Flash::NoteTakenBack };
        let tell = TellFailure { note, app_id, integration_id };
        let told = context::current()?.steering().tell_failure(&actor, fingerprint, tell).await?;
        Ok(Outcome { n: told.integrations, ..flash.into() })
    })
    .await
}
