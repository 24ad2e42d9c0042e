//! Jobs: the list, one job with its explanation, requeue, edit, cancel.

use super::{
    error::{CallError, FormRefused},
    json::Json,
};
use crate::state::job_columns::{JobColumn, JobColumns};
use chrono::{DateTime, Utc};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::views::choices::Choices;
use model::views::names::Names;
use model::{
    id::JobId,
    job::{Job, JobDetail, KeyNeighbour},
    matched::Matched,
    page::Page,
    record::{Attributes, RecordWithSync},
    request::RequestPreview,
    rules::explain::Explanation,
    stats::IntegrationGauge,
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobList {
    /// Newest first.
    pub page: Page<Job>,
    pub names: Names,
    /// From the address, or as the reader chose before.
    pub columns: JobColumns,
    pub choices: Choices,
    /// Filters that need another one: then nothing was searched.
    pub refused: Vec<String>,
    /// The count over all pages; none when not asked for, or when counting would take too long.
    pub matched: Option<Matched>,
    /// Whether the list can begin with the oldest.
    pub may_turn: bool,
    pub as_of: DateTime<Utc>,
}

/// The jobs that the page's query string asks for.
#[server(prefix = "/console", endpoint = "jobs", input = GetUrl, output = Json)]
pub async fn list_jobs(query: String, is_counted: bool) -> Result<JobList, CallError> {
    use crate::{
        server::{actor, context, cookies},
        state::{page_url::PageUrl, url_filters::ListQuery},
    };
    use model::rules::narrowing;
    use service::permission;
    let actor = actor::allowed::<permission::OpenConsole>()?;
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
        insight::store::job_lists::list_counted(&cx.pool, scope, filter, *page, *order).await?
    } else {
        (insight::store::job_lists::list_from(&cx.pool, scope, filter, *page, *order).await?, None)
    };
    let (page, _) = cx.delivery.masked(page).await?;
    let names = cx.names(scope, page.items.iter().map(|job| job.integration_id), &list.filter).await?;
    let choices = cx.choices(filter.app_id, filter.integration_id).await?;
    Ok(JobList { page, names, columns, choices, refused, matched, may_turn, as_of: Utc::now() })
}

/// Shows these columns, in the address and on the next visit; the default columns clear the choice.
#[server(prefix = "/console", endpoint = "job-columns", output = Json)]
pub async fn choose_columns(
    #[server(default)] columns: Vec<JobColumn>,
    back: String,
) -> Result<(), FormRefused> {
    use crate::{
        server::{actor, cookies, redirect},
        state::page_url::PageUrl,
    };
    use service::permission;
    actor::allowed::<permission::OpenConsole>()?;
    let columns: JobColumns = columns.into_iter().collect();
    let back = PageUrl::parse_back(&back).without("columns");
    cookies::set_job_columns(&columns)?;
    redirect::to(&if columns == JobColumns::default() { back } else { back.with("columns", columns) });
    Ok(())
}

/// The record of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobRecord {
    /// The record with its state at every integration.
    pub record: RecordWithSync,
    /// What this integration last accepted: version, time and attributes.
    pub sent: Option<(i64, DateTime<Utc>, Attributes)>,
    /// All attributes are sent, whatever was accepted before.
    pub is_full: bool,
}

/// What belongs to a job besides itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobContext {
    /// The jobs of its serialize key in order; empty without a key.
    pub line: Vec<KeyNeighbour>,
    /// The newest other jobs with its correlation id.
    pub correlated: Vec<Job>,
    /// Whether `correlated` has more.
    pub has_more: bool,
    /// What its next attempt would send, if anything.
    pub request: Option<RequestPreview>,
}

/// One job as its page shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobPage {
    pub detail: JobDetail,
    pub explanation: Explanation,
    pub record: Option<JobRecord>,
    /// Its integration; none when that was deleted.
    pub gauge: Option<IntegrationGauge>,
    pub related: JobContext,
    /// How many values are masked.
    pub masked: u32,
    /// Until when the values are shown unmasked to this reader.
    pub revealed_until: Option<DateTime<Utc>>,
    /// When reading began.
    pub as_of: DateTime<Utc>,
}

/// `revealed` asks for unmasked values; they are shown while the reader's reveal is valid.
#[server(prefix = "/console", endpoint = "job", input = GetUrl, output = Json)]
pub async fn load_job(id: JobId, #[server(default)] revealed: bool) -> Result<JobPage, CallError> {
    use crate::server::{actor, context, job_context, masked};
    use service::permission;
    let actor = actor::allowed::<permission::OpenConsole>()?;
    let scope = actor.scope();
    let cx = context::current()?;
    let as_of = queue::store::clock::now(&cx.pool).await?;
    let detail = queue::store::jobs::get(&cx.pool, scope, id).await?;
    let explanation = insight::store::explain::explain(&cx.pool, scope, id).await?;
    let record = cx.record_of(scope, &detail.job).await?;
    let gauge = insight::store::stats::gauge(&cx.pool, scope, detail.job.integration_id).await.ok();
    let revealed_until = if revealed { masked::revealed_until(&cx, &actor, id).await? } else { None };
    let related = job_context::of(&cx, scope, &detail.job).await?;
    let mut page = JobPage { detail, explanation, record, gauge, related, masked: 0, revealed_until, as_of };
    if revealed_until.is_none() {
        masked::job(&cx, &mut page, actor.role).await?;
    }
    Ok(page)
}

/// Shows the reader the masked values of a job for a while, which is written to the audit log.
#[server(prefix = "/console", endpoint = "reveal-job", output = Json)]
pub async fn reveal_job(id: JobId, back: String) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, redirect},
    };
    use service::permission;
    redirect::answer(&back, async {
        let actor = actor::allowed::<permission::ReadUnmasked>()?;
        context::current()?.headgate.reveal_job(&actor, id).await?;
        Ok(Flash::Revealed.into())
    })
    .await
}

/// Requeues one job with all its attempts.
#[server(prefix = "/console", endpoint = "requeue-job", output = Json)]
pub async fn requeue_job(id: JobId, back: String) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, redirect},
    };
    use service::permission;
    redirect::answer(&back, async {
        let actor = actor::allowed::<permission::SteerJobs>()?;
        context::current()?.headgate.requeue_job(&actor, id).await?;
        Ok(Flash::Requeued.into())
    })
    .await
}

/// Replaces the payload of a failed job and requeues it.
#[server(prefix = "/console", endpoint = "edit-job", output = Json)]
pub async fn edit_job(id: JobId, payload: String, back: String) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, redirect},
        state::payload_draft,
    };
    use service::permission;
    redirect::answer_with(&back, |url| payload_draft::carry(url, &payload), async {
        let actor = actor::allowed::<permission::Configure>()?;
        let payload = payload_draft::parse(&payload).map_err(CallError::Invalid)?;
        context::current()?.headgate.edit_job(&actor, id, &payload).await?;
        Ok(Flash::Edited.into())
    })
    .await
}

#[server(prefix = "/console", endpoint = "cancel-job", output = Json)]
pub async fn cancel_job(id: JobId, back: String) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, redirect},
    };
    use service::permission;
    redirect::answer(&back, async {
        let actor = actor::allowed::<permission::SteerJobs>()?;
        let job = context::current()?.headgate.cancel_job(&actor, id).await?;
        Ok(Flash::of_cancel(job.status).into())
    })
    .await
}
