//! Jobs in every state, narrowed by the address; visible rows move, new ones wait behind a link.

use super::{question::Question, row::Row};
use crate::{
    calls::{
        error::CallError,
        jobs::{Bulk, BulkPreview, JobList, list_jobs, preview},
    },
    components::{
        EmptyList, FilterBar, FilterSentence, JobStateLook, LiveBadge, Loaded, NewerRows, PageHead,
    },
    format,
    state::{base_path, clock, page_url, page_url::PageUrl, refresh, revision, url_filters},
    ui::{
        Anew, Button, ButtonKind, Card, EmptyState, Glyph, HiddenFields, LinkButton, Pagination, PostForm,
        Segment, Segmented, Table, Tone,
    },
};
use leptos::prelude::*;
use model::{
    job::JobStatus,
    operation::{BulkAction, BulkSubject},
    rules::permission::Permission,
};
use std::{collections::BTreeMap, time::Duration};

/// The list.
#[component]
pub fn JobsPage() -> impl IntoView {
    let url = page_url::current();
    let revision = revision::current();
    let page = Resource::new_blocking(
        move || {
            let action = url.with(|url| url.get("confirm").and_then(|word| word.parse::<BulkAction>().ok()));
            (action, url.get().query(), revision.get())
        },
        |(action, query, _)| async move {
            let question = match action {
                Some(action) => Some((action, preview(BulkSubject::Jobs, action, query.clone()).await)),
                None => None,
            };
            list_jobs(query).await.map(|list| (list, question))
        },
    );
    view! {
        <Loaded
            title="Jobs"
            data=page
            show=move |(list, question), reader| {
                let may_steer = reader.is_some_and(|r| r.may(Permission::SteerJobs));
                view! { <Content list=list url=url.get_untracked() may_steer=may_steer question=question /> }.into_any()
            }
        />
    }
    .into_any()
}

#[component]
fn Content(
    list: JobList,
    url: PageUrl,
    may_steer: bool,
    question: Option<(BulkAction, Result<BulkPreview, CallError>)>,
) -> impl IntoView {
    let JobList { page, names, snapshot, refused, as_of } = list;
    let query = url.query();
    let is_first_page = url.get("cursor").is_none();
    let newer = refresh::every(Duration::from_secs(3), move || list_jobs(query.clone()));
    let newest_id = page.items.first().map(|job| job.id);
    // Statuses of the rows on screen, and how many jobs came after the first of them.
    let fresh = Memo::new(move |_| {
        newer.with(|list| {
            let jobs = list.as_ref().map(|list| list.page.items.as_slice()).unwrap_or_default();
            let by_id: BTreeMap<_, _> = jobs.iter().map(|job| (job.id, (job.status, job.attempt))).collect();
            let new = if is_first_page {
                jobs.iter().take_while(|job| Some(job.id) > newest_id).count()
            } else {
                0
            };
            (by_id, new)
        })
    });
    let now = clock::now_or(as_of);
    let settled = url.clone().settled();
    let reload = settled.to_string();
    let has_filter = !url_filters::active(&url).is_empty();
    let older = page.next_cursor.clone().map(|cursor| settled.clone().with("cursor", cursor).to_string());
    let newest = (!is_first_page).then(|| settled.clone().without("cursor").to_string());
    let shown = format::counted(page.items.len() as i64, "job shown", "jobs shown");
    let segments = segments(&settled);
    let (clear, asked_from) = (url_filters::cleared(&url).to_string(), url.clone());
    let bulk = ServerAction::<Bulk>::new();
    let is_empty = page.items.is_empty();
    let ask = |action: &str| settled.clone().with("confirm", action).to_string();
    let (ask_requeue, ask_cancel) = (ask("requeue"), ask("cancel"));
    view! {
        <PageHead title="Jobs" lede=lede(&settled)>
            <LiveBadge as_of=as_of />
            {(may_steer && has_filter && !is_empty)
                .then(|| {
                    view! {
                        <LinkButton href=ask_requeue.clone() glyph=Glyph::Undo>
                            "Requeue all that match"
                        </LinkButton>
                        <LinkButton href=ask_cancel.clone() kind=ButtonKind::Danger>
                            "Cancel all that match"
                        </LinkButton>
                    }
                })}
        </PageHead>
        <div class="mb-3 flex">
            <Segmented label="State" segments=segments />
        </div>
        <Card title="All jobs" sub=if has_filter { "narrowed by the address" } else { "finished ones of the last 24 h" }>
            <FilterBar url=url.clone() path="/jobs" snapshot=snapshot names=names.clone() />
            <FilterSentence url=url.clone() noun="jobs" names=names.clone() />
            {(!refused.is_empty()).then(|| view! { <Refused names=refused.clone() /> })}
            <NewerRows count=Signal::derive(move || fresh.with(|(_, new)| *new)) href=reload />
            {if !refused.is_empty() {
                ().into_any()
            } else if is_empty {
                view! {
                    <EmptyList
                        clear=has_filter.then_some(clear)
                        narrowed=("No job fits these filters", "Finished jobs show for 24 hours unless the address says created_after.")
                        glyph=Glyph::List
                        nothing=("No jobs yet", "A record change sent to POST /api/v1/events makes one for every integration that wants it.")
                    />
                }
                    .into_any()
            } else {
                let rows = move || {
                    page.items
                        .iter()
                        .cloned()
                        .map(|job| view! { <Row names=names.clone() job=job fresh=fresh now=now may_steer=may_steer /> })
                        .collect_view()
                };
                view! {
                    <Table label="Jobs" stacks=true head=move || head(may_steer)>
                        <Anew key=as_of>{rows.clone()}</Anew>
                    </Table>
                }
                    .into_any()
            }}
            {(may_steer && !is_empty)
                .then(|| {
                    view! {
                        <PostForm
                            action=bulk
                            id="chosen"
                            class="flex flex-wrap items-center gap-2 px-4 py-2.5 border-t border-line"
                            hidden=HiddenFields::default()
                                .with("subject", "jobs")
                                .with("action", "requeue")
                                .with("back", settled.to_string())
                        >
                            <span class="type-label text-muted mr-1">"Ticked jobs:"</span>
                            <Button glyph=Glyph::Undo key="r">"Requeue"</Button>
                            <Button
                                kind=ButtonKind::Danger
                                method="get"
                                to=base_path::current().join("/jobs")
                                name="confirm"
                                value="cancel"
                            >
                                "Cancel"
                            </Button>
                        </PostForm>
                    }
                })}
            {(!is_empty || newest.is_some()).then(|| view! { <Pagination newest=newest older=older shown=shown /> })}
        </Card>
        {question.map(|(action, answer)| view! { <Question action=action answer=answer url=asked_from bulk=bulk /> })}
    }
    .into_any()
}

/// Why nothing was looked for, and what makes it quick.
#[component]
fn Refused(
    /// The filters that need another one beside them.
    names: Vec<String>,
) -> impl IntoView {
    let which = names.join(", ");
    let need = if names.len() == 1 { "needs" } else { "need" };
    view! {
        <EmptyState
            glyph=Glyph::Search
            tone=Tone::Retrying
            title="One filter more, please"
            text=format!(
                "{which} {need} another filter beside it, so that no search runs through millions of jobs: an integration, a record with its \
                 type, a correlation id, a batch, the state Processing or To be retried, or younger than 1h. Of failed jobs an app is enough.",
            )
        />
    }
    .into_any()
}

/// What is shown, read aloud.
fn lede(url: &PageUrl) -> String {
    let status = url.get("status").and_then(|word| word.parse::<JobStatus>().ok());
    match status {
        Some(JobStatus::Pending) => "Jobs that wait for their first attempt, newest first.",
        Some(JobStatus::Processing) => "Jobs that are being tried right now.",
        Some(JobStatus::ToBeRetried) => "Jobs that failed and wait for another attempt.",
        Some(JobStatus::Retrying) => "Jobs whose next attempt is due.",
        Some(JobStatus::Completed) => {
            "Jobs that are done; those of the last 24 hours unless you say otherwise."
        }
        Some(JobStatus::Failed) => "Jobs that were given up. They are the dead letters.",
        Some(JobStatus::Cancelled) => "Jobs that were called off.",
        None => "Every unit of work: what waits, runs, failed and is done.",
    }
    .to_owned()
}

fn segments(url: &PageUrl) -> Vec<Segment> {
    let now = url.get("status").unwrap_or_default().to_owned();
    let url = url.clone().without("cursor");
    let all = Segment {
        href: url.clone().without("status").to_string(),
        label: "All".to_owned(),
        count: None,
        is_current: now.is_empty(),
    };
    let states = JobStatus::ALL.into_iter().map(|status| Segment {
        href: url.clone().with("status", status.as_str()).to_string(),
        label: JobStateLook::of(status).word.to_owned(),
        count: None,
        is_current: now == status.as_str(),
    });
    std::iter::once(all).chain(states).collect()
}

fn head(may_steer: bool) -> impl IntoView {
    view! {
        {may_steer
            .then(|| {
                view! {
                    <th scope="col">
                        <span class="sr-only">"Choose"</span>
                    </th>
                }
            })}
        <th scope="col">"Job"</th>
        <th scope="col">"State"</th>
        <th scope="col">"Integration"</th>
        <th scope="col" class="n">"Attempts"</th>
        <th scope="col">"Accepted"</th>
        <th scope="col" class="grow">
            <span class="block min-w-[150px]">"Last error"</span>
        </th>
    }
}
