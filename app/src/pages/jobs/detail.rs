//! One job: why it is in its state, what was tried, what it sends.

use super::{
    edit::EditAndRetry,
    facts::JobFacts,
    folded::FoldedIn,
    masked::MaskedNote,
    progress::JobProgress,
    related::{Correlated, KeyQueue},
    request::AsCurl,
    subject::subject,
    what_it_sends::WhatItSends,
};
use crate::{
    calls::{
        error::CallError,
        jobs::{CancelJob, RequeueJob, load_job},
    },
    components::{
        AttemptTimeline, Confirm, History, JobStateBadge, JobVerdict, LiveBadge, Loaded, PageHead, Payload,
        RecordSyncs, StateHistory,
    },
    format,
    state::{opened, page_url, payload_draft, refresh, revision},
    ui::{Button, ButtonKind, Card, CopyButton, EmptyState, Glyph, HiddenFields, Link, LinkButton, PostForm},
};
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;
use model::{
    id::{IntegrationId, JobId},
    job::JobStatus,
    opened::{ExplainedJob, LiveUpdate, Opened},
    request::RequestPreview,
    rules::permission::Permission,
    stats::IntegrationGauge,
    views::job_page::{JobPage, JobRecord},
};
use std::time::Duration;

#[component]
pub fn JobDetailPage() -> impl IntoView {
    let params = use_params_map();
    let url = page_url::current();
    let asked = Memo::new(move |_| {
        let id = params.read().get("id").and_then(|id| id.parse::<JobId>().ok());
        let visit = url.with(|url| (url.get("revealed").is_some(), url.get("notice").map(str::to_owned)));
        (id, visit)
    });
    let revision = revision::current();
    let page = Resource::new_blocking(
        move || (asked.get(), revision.get()),
        |((id, (revealed, _)), _)| async move {
            match id {
                Some(id) => load_job(id, revealed).await,
                None => Err(CallError::NotFound),
            }
        },
    );
    view! {
        <Loaded
            title="Jobs"
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
    let Rights { steer: may_steer, reveal: may_reveal, deployment, edit: may_edit } = rights;
    let as_of = page.as_of;
    let id = page.detail.job.id;
    let is_live = page.detail.job.status.is_live();
    let is_revealed = page.revealed_until.is_some();
    // Pushed jobs have their secrets masked, so a page with revealed secrets polls instead.
    let pushed = (!is_revealed).then(|| opened::follow::<ExplainedJob>(Opened::Job(id)));
    let period = Duration::from_secs(if is_revealed { 2 } else { 10 });
    // The context of a finished job does not change.
    let newer =
        if is_live { refresh::every(period, move || load_job(id, is_revealed)) } else { RwSignal::new(None) };
    let loaded = Memo::new(move |_| newer.with(|newer| newer.clone().unwrap_or_else(|| page.clone())));
    let page = Memo::new(move |_| {
        let loaded = loaded.get();
        match pushed.and_then(|pushed| pushed.get()) {
            Some(LiveUpdate { at, now: ExplainedJob { detail, explanation } }) if at >= loaded.as_of => {
                JobPage { detail, explanation, ..loaded }
            }
            _ => loaded,
        }
    });
    let the_job = Memo::new(move |_| page.with(|p| p.detail.job.clone()));
    let attempts = Memo::new(move |_| page.with(|p| p.detail.attempts.clone()));
    let progress = Memo::new(move |_| page.with(|p| p.detail.progress.clone()));
    let folded_changes = Memo::new(move |_| page.with(|p| p.detail.twins.clone()));
    let payload = Memo::new(move |_| page.with(|p| p.detail.job.payload.clone()));
    let related = Memo::new(move |_| page.with(|p| p.related.clone()));
    let masking = Memo::new(move |_| page.with(|p| (p.masked, p.revealed_until)));
    let result = Memo::new(move |_| page.with(|p| p.detail.result.clone()));
    let explanation = Memo::new(move |_| page.with(|p| p.explanation.clone()));
    let record = Memo::new(move |_| page.with(|p| p.record.clone()));
    let gathered = Memo::new(move |_| page.with(gathered));
    // A folded change is pushed at once; what is sent of it has to be loaded.
    refresh::when(
        newer,
        move || gathered.get() != loaded.with_untracked(self::gathered),
        move || load_job(id, is_revealed),
    );
    // The request as first loaded, until another change is folded in: its time stamp would change under the cursor.
    let request = Memo::new(move |before: Option<&(Gathered, Option<RequestPreview>)>| {
        let (now, request) = loaded.with(|p| (self::gathered(p), p.related.request.clone()));
        before.filter(|(before, _)| *before == now).cloned().unwrap_or((now, request))
    });
    let gauge = page.with_untracked(|p| p.gauge.clone());
    let integration_name =
        gauge.as_ref().map_or_else(|| "a deleted integration".to_owned(), |g| g.name.clone());
    let app_name = gauge.as_ref().map_or_else(|| "deleted".to_owned(), |g| g.app_name.clone());
    let first = the_job.get_untracked();
    let crumbs = StoredValue::new((integration_name.clone(), first.job_type.clone()));
    let integration_id = first.integration_id;
    let heading = format!("{} → {integration_name}", subject(&first));
    let status = Memo::new(move |_| the_job.with(|job| job.status));
    let history = Memo::new(move |_| the_job.with(|job| History::of(job, attempts.get())));
    let made = Signal::derive(move || history.with(|h| h.in_words(the_job.with(|job| job.max_attempts))));
    let is_tried = Memo::new(move |_| history.with(|history| !history.entries.is_empty()));
    let is_dead = Memo::new(move |_| status.get() == JobStatus::Failed);
    let is_cancel_requested = Memo::new(move |_| the_job.with(|job| job.cancel_requested_at.is_some()));
    let cancel = ServerAction::<CancelJob>::new();
    let requeue = ServerAction::<RequeueJob>::new();
    let back = format!("/jobs/{id}");
    let url = page_url::current();
    let asks_cancel = Memo::new(move |_| url.with(|url| url.get("confirm") == Some("cancel")));
    let fields = {
        let back = back.clone();
        move || HiddenFields::default().with("id", id.to_string()).with("back", back.clone())
    };
    let (requeue_fields, cancel_fields, close) = (fields.clone(), fields, back);
    view! {
        <PageHead
            title="Jobs"
            heading=heading
            crumbs=move || {
                view! {
                    <nav class="mb-1 type-label text-faint" aria-label="Breadcrumb">
                        <Link href="/jobs" class="hover:text-accent">"Jobs"</Link>
                        " / "
                        <Link href=format!("/jobs?integration_id={integration_id}") class="hover:text-accent">{crumbs.with_value(|c| c.0.clone())}</Link>
                        " / "
                        {crumbs.with_value(|c| c.1.clone())}
                    </nav>
                }
            }
            badge=move || view! { <JobStateBadge status=status /> }
        >
            <LiveBadge as_of=as_of />
            {move || {
                may_steer
                    .then(|| {
                        let status = status.get();
                        let may_cancel = status.is_live() && !is_cancel_requested.get();
                        let may_requeue = matches!(status, JobStatus::Failed | JobStatus::ToBeRetried | JobStatus::Retrying);
                        view! {
                            {may_cancel
                                .then(|| {
                                    view! {
                                        <LinkButton href=format!("/jobs/{id}?confirm=cancel") kind=ButtonKind::Danger>
                                            "Cancel"
                                        </LinkButton>
                                    }
                                })}
                            {may_requeue
                                .then(|| {
                                    view! {
                                        <PostForm action=requeue hidden=requeue_fields()>
                                            <Button kind=ButtonKind::Primary glyph=Glyph::Undo>
                                                "Requeue"
                                            </Button>
                                        </PostForm>
                                    }
                                })}
                        }
                    })
            }}
        </PageHead>
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
                view! { <JobVerdict job=job sees_deployment=deployment is_in_sync=is_in_sync explanation=explanation.get() gauge=gauge.clone() as_of=as_of>
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
                    <Card title="Attempts" sub=made>
                        {move || {
                            if is_tried.get() {
                                view! { <AttemptTimeline history=history now=as_of is_dead=is_dead /> }.into_any()
                            } else {
                                view! { <NoAttempts status=status.get() /> }.into_any()
                            }
                        }}
                    </Card>
                    {move || record.get().map(|record| view! { <WhatItSends record=record status=status.get_untracked() as_of=as_of /> })}
                    {move || {
                        payload
                            .get()
                            .map(|payload| {
                                view! {
                                    <Card title="Payload">
                                        <Payload value=payload label="payload" />
                                    </Card>
                                }
                            })
                    }}
                    {move || {
                        let job = the_job.get();
                        let may_edit = may_edit && job.status == JobStatus::Failed;
                        let draft = url.with(payload_draft::carried);
                        let is_open = url.with(|url| url.get("edit").is_some());
                        // A job about a record shows what was last sent as its payload, which is not its own.
                        let own = payload.get().filter(|_| job.record_id.is_none());
                        let masked = masking.get().0;
                        may_edit
                            .then(|| view! { <EditAndRetry id=id payload=own masked=masked is_open=is_open draft=draft /> })
                    }}
                    {move || request.get().1.map(|request| view! { <AsCurl request=request /> })}
                    {move || {
                        result
                            .get()
                            .map(|result| {
                                view! {
                                    <Card title="Result">
                                        <Payload value=result label="result" />
                                    </Card>
                                }
                            })
                    }}
                </div>
                <div class="stack">
                    {move || view! { <JobFacts job=the_job.get() names=(app_name.clone(), integration_name.clone()) version=record.with(|r| r.as_ref().map(|r| r.record.record.version)) as_of=as_of /> }}
                    {move || {
                        let folded = the_job.with(|job| job.folded);
                        (folded > 0).then(|| view! { <FoldedIn folded=folded changes=folded_changes.get() now=as_of /> })
                    }}
                    {move || {
                        let queue = related.get().line;
                        the_job
                            .with(|job| job.serialize_key.clone())
                            .filter(|_| queue.len() > 1)
                            .map(|key| view! { <KeyQueue id=id serialize_key=key queue=queue /> })
                    }}
                    {move || {
                        let related = related.get();
                        let correlation_id = the_job.with(|job| job.last_correlation_id().to_owned());
                        view! { <Correlated correlation_id=correlation_id others=related.correlated has_more=related.has_more now=as_of /> }
                    }}
                    {move || {
                        record
                            .get()
                            .map(|record| {
                                view! {
                                    <Card title="This record, everywhere">
                                        <RecordSyncs syncs=record.record.integrations newest=record.record.record.version />
                                    </Card>
                                }
                            })
                    }}
                </div>
            </div>
        </div>
        {move || {
            (may_steer && asks_cancel.get() && status.get().is_live())
                .then(|| {
                    let text = if status.get() == JobStatus::Processing {
                        "It is being processed: its worker is told to stop. What it has sent by then may have arrived. What changed stays in the record and is sent with its next change."
                    } else {
                        "A cancelled job is not sent and cannot be requeued. What changed stays in the record and is sent with its next change."
                    };
                    view! {
                        <Confirm
                            action=cancel
                            hidden=cancel_fields()
                            title="Cancel 1 job?"
                            text=text
                            button_text="Cancel 1 job"
                            close=close.clone()
                        />
                    }
                })
        }}
    }
    .into_any()
}

/// A job seldom waits alone: a link to the others of its integration.
fn others_that_wait(status: JobStatus, gauge: Option<&IntegrationGauge>) -> Option<AnyView> {
    let gauge = gauge.filter(|gauge| status == JobStatus::ToBeRetried && gauge.to_be_retried > 1)?;
    let href = format!("/jobs?status=to_be_retried&integration_id={}", gauge.integration_id);
    let words = format!("See all {} waiting jobs", format::count(gauge.to_be_retried));
    Some(view! { <LinkButton href=href kind=ButtonKind::Quiet>{words}</LinkButton> }.into_any())
}

/// How many changes are folded into the request, and the newest one's correlation id.
type Gathered = (i32, String);

fn gathered(page: &JobPage) -> Gathered {
    let job = &page.detail.job;
    (job.folded, job.last_correlation_id().to_owned())
}

/// Whether an integration has the record's present version.
fn has_newest(record: &JobRecord, integration_id: IntegrationId) -> bool {
    record.record.integrations.iter().any(|sync| sync.integration_id == integration_id && sync.in_sync)
}

#[component]
fn NoAttempts(status: JobStatus) -> impl IntoView {
    let text = match status {
        JobStatus::Cancelled => "Cancelled before the first attempt.",
        JobStatus::Completed => "It completed at the first attempt, of which no record is kept.",
        _ => "The first attempt starts as soon as every gate is open.",
    };
    view! { <EmptyState glyph=Glyph::Clock title="No attempts to show" text=text /> }
}
