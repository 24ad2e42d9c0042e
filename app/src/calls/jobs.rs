//! Jobs: the list, one job with its explanation, requeue, edit, cancel.

use super::error::{CallError, FormRefused};
use super::json::Json;
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::id::JobId;
use model::job_columns::JobColumn;
use model::views::job_list::JobList;
use model::views::job_page::JobPage;

/// The jobs that the page's query string asks for.
#[server(prefix = "/console", endpoint = "jobs", input = GetUrl, output = Json)]
pub async fn list_jobs(query: String, is_counted: bool) -> Result<JobList, CallError> {
    use crate::{
        server::{actor, context, cookies},
        state::{job_columns, page_url::PageUrl, url_filters::ListQuery},
    };
    use model::views::job_list::JobListQuery;
    use service::permission;
    let actor = actor::allowed::<permission::OpenConsole>()?;
    let ListQuery { filter, page, order } =
        ListQuery::parse(&query).map_err(|error| CallError::Invalid(error.to_string()))?;
    let columns = job_columns::of(&PageUrl::parse(&format!("/jobs?{query}")))
        .map_err(|error| CallError::Invalid(error.to_string()))?
        .unwrap_or_else(cookies::job_columns);
    let query = JobListQuery { filter, page, order, columns, is_counted };
    Ok(context::current()?.headgate.job_list(&actor, query).await?)
}

/// Shows these columns, in the address and on the next visit; the default columns clear the choice.
#[server(prefix = "/console", endpoint = "job-columns", output = Json)]
pub async fn choose_columns(
    #[server(default)] columns: Vec<JobColumn>,
    back: String,
) -> Result<(), FormRefused> {
    use crate::server::{actor, cookies, redirect};
    use crate::state::page_url::PageUrl;
    use model::job_columns::JobColumns;
    use service::permission;
    actor::allowed::<permission::OpenConsole>()?;
    let columns: JobColumns = columns.into_iter().collect();
    let back = PageUrl::parse_back(&back).without("columns");
    cookies::set_job_columns(&columns)?;
    redirect::to(&if columns == JobColumns::default() { back } else { back.with("columns", columns) });
    Ok(())
}

/// `revealed` asks for unmasked values; they are shown while the reader's reveal is valid.
#[server(prefix = "/console", endpoint = "job", input = GetUrl, output = Json)]
pub async fn load_job(id: JobId, #[server(default)] revealed: bool) -> Result<JobPage, CallError> {
    use crate::server::{actor, context};
    use model::views::job_page::Secrets;
    use service::permission;
    let actor = actor::allowed::<permission::OpenConsole>()?;
    let secrets = if revealed { Secrets::Revealed } else { Secrets::Masked };
    Ok(context::current()?.headgate.job_page(&actor, id, secrets).await?)
}

/// Shows the reader the masked values of a job for a while, which is written to the audit log.
#[server(prefix = "/console", endpoint = "reveal-job", output = Json)]
pub async fn reveal_job(id: JobId, back: String) -> Result<(), FormRefused> {
    use crate::components::Flash;
    use crate::server::{actor, context, redirect};
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
    use crate::components::Flash;
    use crate::server::{actor, context, redirect};
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
    use crate::components::Flash;
    use crate::server::{actor, context, redirect};
    use crate::state::payload_draft;
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
    use crate::components::Flash;
    use crate::server::{actor, context, redirect};
    use service::permission;
    redirect::answer(&back, async {
        let actor = actor::allowed::<permission::SteerJobs>()?;
        let job = context::current()?.headgate.cancel_job(&actor, id).await?;
        Ok(Flash::of_cancel(job.status).into())
    })
    .await
}
