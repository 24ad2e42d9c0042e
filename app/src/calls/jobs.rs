//! Jobs: the list, one of them with the reasons behind it, requeue and cancel.

use super::{
    choices::Choices,
    error::{CallError, FormRefused},
    json::Json,
    names::Names,
};
use crate::state::job_columns::{JobColumn, JobColumns};
use chrono::{DateTime, Utc};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::{
    id::JobId,
    job::{Job, JobDetail, KeyNeighbour},
    matched::Matched,
    operation::{BulkAction, BulkSubject, DryRun},
    page::Page,
    record::{Attributes, RecordWithSync},
    request::RequestPreview,
    rules::explain::Explanation,
    stats::IntegrationGauge,
};
use serde::{Deserialize, Serialize};

/// One page of jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobList {
    /// Newest first.
    pub page: Page<Job>,
    /// What its integrations are called.
    pub names: Names,
    /// What is shown of each: as the address says, or as the reader chose before.
    pub columns: JobColumns,
    /// To narrow it to.
    pub choices: Choices,
    /// Filters that need another one beside them: nothing was looked for.
    pub refused: Vec<String>,
    /// How many there are over all its pages; none when nobody asked, or it would take too long to say.
    pub matched: Option<Matched>,
    /// Whether the list can begin with the oldest.
    pub may_turn: bool,
    /// The moment of the list.
    pub as_of: DateTime<Utc>,
}

/// The jobs an address asks for: `query` is the page's own query string.
#[server(prefix = "/console", endpoint = "jobs", input = GetUrl, output = Json)]
pub async fn list_jobs(query: String, is_counted: bool) -> Result<JobList, CallError> {
    use crate::{
        server::{actor, context, cookies},
        state::{page_url::PageUrl, url_filters::ListQuery},
    };
    use model::rules::{narrowing, permission::Permission};
    let actor = actor::allowed(Permission::OpenConsole)?;
    let scope = actor.scope();
    let mut list = ListQuery::parse(&query).map_err(|error| CallError::Invalid(error.to_string()))?;
    let columns = JobColumns::of(&PageUrl::parse(&format!("/jobs?{query}")))
        .map_err(|error| CallError::Invalid(error.to_string()))?
        .unwrap_or_else(cookies::job_columns);
    let cx = context::current()?;
    list.filter = cx.delivery.filter_for(&actor, &list.filter, "payload.").await?;
    let refused: Vec<String> = match narrowing::check(&list.filter, Utc::now()) {
        Ok(()) => Vec::new(),
        Err(faults) => faults.0.into_iter().map(|fault| fault.pointer).collect(),
    };
    let may_turn = narrowing::may_begin_with_oldest(&list.filter);
    let ListQuery { filter, page, order } = &list;
    let (page, matched) = if !refused.is_empty() {
        (Page { items: Vec::new(), next_cursor: None }, None)
    } else if is_counted {
        queue::store::jobs::list_counted(&cx.pool, scope, filter, *page, *order).await?
    } else {
        (queue::store::jobs::list_from(&cx.pool, scope, filter, *page, *order).await?, None)
    };
    let (page, _) = cx.delivery.masked(page).await?;
    let names = cx.names(scope, page.items.iter().map(|job| job.integration_id), &list.filter).await?;
    let choices = cx.choices(filter.app_id, filter.integration_id).await?;
    Ok(JobList { page, names, columns, choices, refused, matched, may_turn, as_of: Utc::now() })
}

/// Shows these columns, in the address and on the next visit; those that are shown at first are the choice of nothing.
#[server(prefix = "/console", endpoint = "job-columns", output = Json)]
pub async fn choose_columns(
    #[server(default)] columns: Vec<JobColumn>,
    back: String,
) -> Result<(), FormRefused> {
    use crate::{
        server::{actor, cookies, redirect},
        state::page_url::PageUrl,
    };
    use model::rules::permission::Permission;
    actor::allowed(Permission::OpenConsole)?;
    let columns: JobColumns = columns.into_iter().collect();
    let back = PageUrl::parse_back(&back).without("columns");
    cookies::set_job_columns(&columns)?;
    redirect::to(&if columns == JobColumns::default() { back } else { back.with("columns", columns) });
    Ok(())
}

/// What a record's job is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobRecord {
    /// The record with what every integration has of it.
    pub record: RecordWithSync,
    /// What this integration last accepted, and which version that was.
    pub sent: Option<(i64, DateTime<Utc>, Attributes)>,
    /// Everything is sent, whatever it accepted before.
    pub is_full: bool,
}

/// What stands beside a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// The line at its serialize key; empty: it stands in none.
    pub line: Vec<KeyNeighbour>,
    /// The newest others of its correlation id.
    pub correlated: Vec<Job>,
    /// There are more of these.
    pub has_more: bool,
    /// What its next attempt would send; none: nothing.
    pub request: Option<RequestPreview>,
}

/// One job as its page shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobPage {
    /// The job and its attempts.
    pub detail: JobDetail,
    /// Why it is where it is.
    pub explanation: Explanation,
    /// The record behind it.
    pub record: Option<JobRecord>,
    /// Its integration at the call; none when that was deleted.
    pub gauge: Option<IntegrationGauge>,
    /// What stands beside it.
    pub beside: Beside,
    /// Values that are not shown, because they are secret.
    pub masked: u32,
    /// They are shown, until then, because this reader asked for it.
    pub revealed_until: Option<DateTime<Utc>>,
    /// When all that began to be read.
    pub as_of: DateTime<Utc>,
}

/// One job. `revealed`: with its secrets, if the reader had them revealed a moment ago.
#[server(prefix = "/console", endpoint = "job", input = GetUrl, output = Json)]
pub async fn load_job(id: JobId, #[server(default)] revealed: bool) -> Result<JobPage, CallError> {
    use crate::server::{actor, beside, context, masked};
    use model::rules::permission::Permission;
    let actor = actor::allowed(Permission::OpenConsole)?;
    let scope = actor.scope();
    let cx = context::current()?;
    let as_of = queue::store::clock::now(&cx.pool).await?;
    let detail = queue::store::jobs::get(&cx.pool, scope, id).await?;
    let explanation = queue::store::jobs::explain(&cx.pool, scope, id).await?;
    let record = cx.record_of(scope, &detail.job).await?;
    let gauge = queue::store::stats::gauge(&cx.pool, scope, detail.job.integration_id).await.ok();
    let revealed_until = if revealed { masked::revealed_until(&cx, &actor, id).await? } else { None };
    let beside = beside::of(&cx, scope, &detail.job).await?;
    let mut page = JobPage { detail, explanation, record, gauge, beside, masked: 0, revealed_until, as_of };
    if revealed_until.is_none() {
        masked::job(&cx, &mut page, actor.role).await?;
    }
    Ok(page)
}

/// Shows the reader what is masked of a job, for a while: a line of the audit log.
#[server(prefix = "/console", endpoint = "reveal-job", output = Json)]
pub async fn reveal_job(id: JobId, back: String) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, redirect},
    };
    use model::rules::permission::Permission;
    redirect::answer(&back, async {
        let actor = actor::allowed(Permission::ReadUnmasked)?;
        context::current()?.steering().reveal_job(&actor, id).await?;
        Ok(Flash::Revealed.into())
    })
    .await
}

/// Gives one job all its attempts anew.
#[server(prefix = "/console", endpoint = "requeue-job", output = Json)]
pub async fn requeue_job(id: JobId, back: String) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, redirect},
    };
    use model::rules::permission::Permission;
    redirect::answer(&back, async {
        let actor = actor::allowed(Permission::SteerJobs)?;
        context::current()?.steering().requeue_job(&actor, id).await?;
        Ok(Flash::Requeued.into())
    })
    .await
}

/// Gives a failed job another payload and requeues it.
#[server(prefix = "/console", endpoint = "edit-job", output = Json)]
pub async fn edit_job(id: JobId, payload: String, back: String) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, redirect},
        state::payload_draft,
    };
    use model::rules::permission::Permission;
    redirect::answer_with(&back, |url| payload_draft::carry(url, &payload), async {
        let actor = actor::allowed(Permission::Configure)?;
        let payload = payload_draft::parse(&payload).map_err(CallError::Invalid)?;
        context::current()?.steering().edit_job(&actor, id, &payload).await?;
        Ok(Flash::Edited.into())
    })
    .await
}

/// Calls one job off.
#[server(prefix = "/console", endpoint = "cancel-job", output = Json)]
pub async fn cancel_job(id: JobId, back: String) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, redirect},
    };
    use model::rules::permission::Permission;
    redirect::answer(&back, async {
        let actor = actor::allowed(Permission::SteerJobs)?;
        let job = context::current()?.steering().cancel_job(&actor, id).await?;
        Ok(Flash::of_cancel(job.status).into())
    })
    .await
}

/// What a bulk action would touch, for its question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BulkPreview {
    /// Counted exactly, at the call.
    pub run: DryRun,
    /// What the integrations are called.
    pub names: Names,
}

/// What a bulk action would touch: the count its question names.
#[server(prefix = "/console", endpoint = "preview", input = GetUrl, output = Json)]
pub async fn preview(
    subject: BulkSubject,
    action: BulkAction,
    query: String,
) -> Result<BulkPreview, CallError> {
    use crate::server::{actor, bulk};
    bulk::preview(&actor::allowed(bulk::permission(action))?, subject, action, &query).await
}

/// Why and how fast, as it was typed: an empty field is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct How {
    /// For the audit log.
    pub reason: String,
    /// How many at most.
    pub rate_per_second: String,
    /// How long it can be withdrawn.
    pub hold_seconds: String,
}

/// Requeues, cancels or purges all that the address narrows to, or those of its rows that were ticked.
#[server(prefix = "/console", endpoint = "bulk", output = Json)]
pub async fn bulk(
    subject: BulkSubject,
    action: BulkAction,
    #[server(default)] ids: Vec<uuid::Uuid>,
    #[server(default)] query: String,
    #[server(default)] matched: Option<i64>,
    #[server(default)] how: How,
    back: String,
) -> Result<(), FormRefused> {
    use crate::server::{actor, bulk, redirect};
    let choice = bulk::Choice { ids, query, matched, how };
    redirect::answer(&back, async {
        let actor = actor::allowed(bulk::permission(action))?;
        bulk::run(&actor, subject, action, choice).await
    })
    .await
}
