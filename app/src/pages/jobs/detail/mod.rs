//! One job: why it is in its state, what was tried, what it sends.

mod cancel_question;
mod context;
mod head;
mod live;
mod work;

use self::{cancel_question::CancelQuestion, context::Context, head::Head, live::LiveJob, work::Work};
use super::{masked::MaskedNote, progress::JobProgress};
use crate::{
    calls::{error::CallError, jobs::load_job},
    components::{JobVerdict, Loaded, StateHistory, page_table::ConsolePage},
    format,
    state::{page_url, revision},
    ui::{ButtonKind, Card, CopyButton, LinkButton},
};
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;
use model::id::{IntegrationId, JobId};
use model::job::JobStatus;
use model::rules::permission::Permission;
use model::stats::IntegrationGauge;
use model::views::job_page::{JobPage, JobRecord};

#[component]
pub fn JobDetailPage() -> impl IntoView {
    let params = use_params_map();
    let url = page_url::current();
    let asked = Memo::new(move |_| {
        let id = params.read().get("id").and_then(|id| id.parse::<JobId>().ok());
        let visit = url.with(|url| (url.get("revealed").is_some(), url.get("notice").map(str::to_owned)));
        (id, visit)
    });
    let page = revision::page_data(
        move || asked.get(),
        |(id, (revealed, _))| async move {
            match id {
                Some(id) => load_job(id, revealed).await,
                None => Err(CallError::NotFound),
            }
        },
    );
    view! {
        <Loaded
            title=ConsolePage::Jobs.title()
            data=page
            show=|page, reader| {
                let may = |permission| reader.as_ref().is_some_and(|r| r.may(permission));
                let rights = Rights { steer: may(Permission::SteerJobs), reveal: may(Permission::ReadUnmasked), deployment: may(Permission::ReadDeployment), edit: may(Permission::Configure) };
                view! { <Content page=page rights=rights /> }.into_any()
            }
        />
    }
    .into_any()
}

#[derive(Clone, Copy)]
struct Rights {
    steer: bool,
    reveal: bool,
    deployment: bool,
    edit: bool,
}

#[component]
fn Content(page: JobPage, rights: Rights) -> impl IntoView {
    let as_of = page.as_of;
    let id = page.detail.job.id;
    let gauge = page.gauge.clone();
    // Names of its app and its integration.
    let names = match &gauge {
        Some(gauge) => (gauge.app_name.clone(), gauge.name.clone()),
        None => ("deleted".to_owned(), "a deleted integration".to_owned()),
    };
    let live = LiveJob::follow(page);
    let LiveJob { job: the_job, attempts, progress, masking, explanation, record, related, status, .. } =
        live;
    let group = Memo::new(move |_| related.with(|related| related.same_cause));
    let (may_reveal, deployment) = (rights.reveal, rights.deployment);
    view! {
        <Head live=live integration_name=names.1.clone() may_steer=rights.steer as_of=as_of />
        <p class="-mt-3 mb-4 flex items-center gap-1 type-mono type-label text-muted">
            {id.to_string()} <CopyButton text=id.to_string() says="Copy the job's id" />
        </p>
        <div class="stack">
            {move || {
                let (masked, revealed_until) = masking.get();
                view! { <MaskedNote id=id masked=masked revealed_until=revealed_until now=as_of may_reveal=may_reveal /> }
            }}
            {move || {
                let job = the_job.get();
                let is_in_sync = record.with(|r| r.as_ref().is_some_and(|r| has_newest(r, job.integration_id)));
                let others = others_that_wait(job.status, gauge.as_ref());
                view! { <JobVerdict job=job sees_deployment=deployment is_in_sync=is_in_sync explanation=explanation.get() gauge=gauge.clone() group=group.get() as_of=as_of>
                        {others}
                    </JobVerdict>
                }
            }}
            {move || {
                let (job, attempts) = (the_job.get(), attempts.get());
                view! {
                    <Card title="States">
                        <StateHistory job=job attempts=attempts now=as_of />
                    </Card>
                }
            }}
            {move || progress.get().map(|progress| view! { <JobProgress progress=progress as_of=as_of /> })}
            <div class="detail">
                <div class="stack">
                    <Work live=live may_edit=rights.edit as_of=as_of />
                </div>
                <div class="stack">
                    <Context live=live names=names as_of=as_of />
                </div>
            </div>
        </div>
        <CancelQuestion id=id status=status may_steer=rights.steer />
    }
    .into_any()
}

/// A job seldom waits alone: a link to the others of its integration.
fn others_that_wait(status: JobStatus, gauge: Option<&IntegrationGauge>) -> Option<AnyView> {
    let waits = matches!(status, JobStatus::ToBeRetried | JobStatus::Retrying);
    let gauge = gauge.filter(|gauge| waits && gauge.to_be_retried > 1)?;
    let href = format!("/jobs?status=to_be_retried&integration_id={}", gauge.integration_id);
    let words = format!("See all {} waiting jobs", format::count(gauge.to_be_retried));
    Some(view! { <LinkButton href=href kind=ButtonKind::Quiet>{words}</LinkButton> }.into_any())
}

/// Whether an integration has the record's present version.
fn has_newest(record: &JobRecord, integration_id: IntegrationId) -> bool {
    record.record.integrations.iter().any(|sync| sync.integration_id == integration_id && sync.in_sync)
}
