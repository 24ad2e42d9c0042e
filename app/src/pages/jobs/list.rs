//! Jobs in every state, filtered by the address. Visible rows change in place, new ones wait behind a link.

use super::{
    checkbox::{PageCheckbox, RowCheckbox},
    columns::ChooseColumns,
    question::{Question, origin},
    row::Row,
    selection_bar::{Selected, SelectionBar},
    subject::subject,
    views::Views,
};
use crate::{
    calls::{
        error::CallError,
        jobs::{Bulk, BulkPreview, JobList, list_jobs, preview},
        saved_views::list_views,
        session::Session,
    },
    components::{
        EmptyList, FilterBar, FilterSentence, JobStateStyle, LiveBadge, Loaded, NewerRows, PageHead,
    },
    format,
    state::{
        clock, freeze,
        job_columns::{JobColumn, JobColumns},
        page_url::{self, PageUrl},
        refresh, revision,
        selection::Selection,
        url_filters,
    },
    ui::{
        ButtonKind, Card, EmptyState, Glyph, Link, LinkButton, Pagination, Remount, Segment, Segmented,
        Table, Tone,
    },
};
use leptos::prelude::*;
use model::{
    job::JobStatus,
    operation::{BulkAction, BulkSubject},
    page::Order,
    rules::permission::Permission,
    saved_view::SavedView,
};
use std::{collections::BTreeMap, time::Duration};
use uuid::Uuid;

#[component]
pub fn JobsPage() -> impl IntoView {
    let url = page_url::current();
    let revision = revision::current();
    let selection = Selection::new();
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
            Ok::<_, CallError>((list_jobs(query, true).await?, list_views().await?, question))
        },
    );
    view! {
        <Loaded
            title="Jobs"
            data=page
            show=move |(list, views, question), reader| {
                view! {
                    <Content
                        list=list
                        url=url.get_untracked()
                        views=views
                        reader=reader
                        selection=selection
                        question=question
                    />
                }
                    .into_any()
            }
        />
    }
    .into_any()
}

#[component]
fn Content(
    list: JobList,
    url: PageUrl,
    views: Vec<SavedView>,
    reader: Option<Session>,
    selection: Selection,
    question: Option<(BulkAction, Result<BulkPreview, CallError>)>,
) -> impl IntoView {
    let JobList { page, names, columns, choices, refused, matched, may_turn, as_of } = list;
    let may_steer = reader.as_ref().is_some_and(|reader| reader.may(Permission::SteerJobs));
    let query = url.query();
    let is_first_page = url.get("cursor").is_none();
    let is_reversed = url_filters::order(&url).is_ok_and(|order| order == Order::Oldest);
    let (first, next) = if is_reversed { ("Oldest", "Newer") } else { ("Newest", "Older") };
    let reversed = (is_reversed || may_turn).then(|| reversed(&url, is_reversed));
    let newer = refresh::every(Duration::from_secs(3), move || list_jobs(query.clone(), false));
    let newest_id = page.items.first().map(|job| job.id);
    // States of the rows on screen, and how many jobs came after the first of them.
    let fresh = Memo::new(move |_| {
        newer.with(|list| {
            let jobs = list.as_ref().map(|list| list.page.items.as_slice()).unwrap_or_default();
            let by_id: BTreeMap<_, _> = jobs.iter().map(|job| (job.id, (job.status, job.attempt))).collect();
            let new = if is_first_page && !is_reversed {
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
    let shown = match matched {
        Some(matched) if page.next_cursor.is_some() || !is_first_page => {
            format!("{} of {} jobs shown", format::count(page.items.len() as i64), matched.all)
        }
        _ => format::counted(page.items.len() as i64, "job shown", "jobs shown"),
    };
    let segments = segments(&settled);
    let (clear, asked_from) = (url_filters::cleared(&url).to_string(), url.clone());
    let bulk = ServerAction::<Bulk>::new();
    // The list behind a question is still the list on which its rows were selected.
    let here = origin(&url);
    let selected = Selected::of(&settled);
    let is_of_all = selected == Selected::All && has_filter;
    let on_page: Vec<Uuid> = page.items.iter().map(|job| job.id.0).collect();
    let asked = url.all("ids[]").into_iter().filter_map(|id| id.parse().ok());
    let from_address = on_page.iter().copied().filter(|_| selected == Selected::Page);
    // Selections are kept over pages and columns of the same list.
    let same = ["cursor", "ticked", "columns"].iter().fold(here.clone(), |url, name| url.without(name));
    selection.show_list(same.to_string(), asked.chain(from_address));
    // People decide on what they see: while rows are selected the page is frozen.
    freeze::while_true(Signal::derive(move || !selection.is_empty()));
    let done = bulk.version();
    Effect::new(move |_| {
        if done.get() > 0 {
            selection.clear();
        }
    });
    let on_page = StoredValue::new(on_page);
    let is_empty = page.items.is_empty();
    // Filters that no index serves: none found among the jobs searched so far.
    let has_more = is_empty && page.next_cursor.is_some();
    let no_match = if has_more {
        ("None found so far", "No index serves these filters: search on with the link below, or add filters.")
    } else {
        (
            "No job matches these filters",
            "Finished jobs are listed for 24 hours, unless “Accepted since” is set.",
        )
    };
    let ask = |action: &str| settled.clone().with("confirm", action).to_string();
    let (ask_requeue, ask_cancel) = (ask("requeue"), ask("cancel"));
    view! {
        <PageHead title="Jobs" headline=headline(&settled)>
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
        <Views views=views url=url.clone() reader=reader as_of=as_of />
        <div class="mb-3 flex">
            <Segmented label="State" segments=segments />
        </div>
        <Card title="All jobs" sub=if has_filter { "filtered" } else { "finished ones of the last 24 h" }>
            <FilterBar url=url.clone() path="/jobs" choices=choices names=names.clone() />
            <FilterSentence url=url.clone() noun="jobs" names=names.clone() />
            <ChooseColumns columns=columns.clone() here=settled.clone() />
            {(!refused.is_empty()).then(|| view! { <Refused names=refused.clone() /> })}
            <NewerRows count=Signal::derive(move || fresh.with(|(_, new)| *new)) href=reload />
            {if !refused.is_empty() {
                ().into_any()
            } else if is_empty {
                view! {
                    <EmptyList
                        clear=has_filter.then_some(clear)
                        no_match=no_match
                        glyph=Glyph::List
                        nothing=("No jobs yet", "A record change sent to POST /api/v1/events creates one for every interested integration.")
                    />
                }
                    .into_any()
            } else {
                let shown = StoredValue::new(columns.clone());
                let rows = move || {
                    page.items
                        .iter()
                        .cloned()
                        .map(|job| {
                            let (id, about) = (job.id.0, subject(&job));
                            let is_checked = untrack(|| selection.has(id));
                            let checkbox = may_steer.then(|| ViewFn::from(move || {
                                view! {
                                    <RowCheckbox
                                        id=id
                                        about=about.clone()
                                        selection=selection
                                        page=on_page
                                        is_of_all=is_of_all
                                        is_checked=is_checked
                                    />
                                }
                            }));
                            view! { <Row names=names.clone() columns=shown job=job fresh=fresh now=now checkbox=checkbox /> }
                        })
                        .collect_view()
                };
                view! {
                    <Table label="Jobs" stacks=true head=move || head(may_steer.then_some((selection, on_page, is_of_all)), &columns, is_reversed, reversed.as_deref())>
                        <Remount key=as_of>{rows.clone()}</Remount>
                    </Table>
                }
                    .into_any()
            }}
            {(may_steer && !is_empty)
                .then(|| {
                    view! {
                        <SelectionBar
                            here=here.clone().with("ticked", settled.get("ticked").unwrap_or_default())
                            selection=selection
                            page=on_page
                            matched=matched
                            has_filter=has_filter
                            bulk=bulk
                        />
                    }
                })}
            {(!is_empty || has_more || newest.is_some()).then(|| view! { <Pagination newest=newest older=older shown=shown first=first next=next /> })}
        </Card>
        {question.map(|(action, answer)| view! { <Question action=action answer=answer url=asked_from bulk=bulk /> })}
    }
    .into_any()
}

/// Why there was no search, and what makes it quick.
#[component]
fn Refused(
    /// Filters that need another one.
    names: Vec<String>,
) -> impl IntoView {
    let which = names.join(", ");
    let need = if names.len() == 1 { "needs" } else { "need" };
    view! {
        <EmptyState
            glyph=Glyph::Search
            tone=Tone::Retrying
            title="Add another filter"
            text=format!(
                "{which} {need} another filter, so that no search runs through millions of jobs: an integration, a record with its \
                 type, a correlation id, a batch, the state Processing, To be retried or Retrying, or younger than 1h. Of failed jobs an app is enough.",
            )
        />
    }
    .into_any()
}

/// What the list shows, in a sentence.
fn headline(url: &PageUrl) -> String {
    let status = url.get("status").and_then(|word| word.parse::<JobStatus>().ok());
    match status {
        Some(JobStatus::Pending) => "Jobs that wait for their first attempt, newest first.",
        Some(JobStatus::Processing) => "Jobs that are being processed right now.",
        Some(JobStatus::ToBeRetried) => "Jobs that failed and wait for another attempt.",
        Some(JobStatus::Retrying) => "Jobs whose next attempt is due.",
        Some(JobStatus::Completed) => "Completed jobs of the last 24 hours, unless filtered by time.",
        Some(JobStatus::Failed) => "Jobs that were given up: the dead letters.",
        Some(JobStatus::Cancelled) => "Cancelled jobs.",
        None => "All jobs: waiting, running, failed and done.",
    }
    .to_owned()
}

/// The address of the list in reverse order.
fn reversed(url: &PageUrl, is_reversed: bool) -> String {
    let first = url.clone().settled().without("cursor").without("ticked").without("sort");
    if is_reversed { first.to_string() } else { first.with("sort", "oldest").to_string() }
}

fn segments(url: &PageUrl) -> Vec<Segment> {
    let now = url.get("status").unwrap_or_default().to_owned();
    let url = url.clone().without("cursor").without("ticked").without("sort");
    let all = Segment {
        href: url.clone().without("status").to_string(),
        label: "All".to_owned(),
        count: None,
        is_current: now.is_empty(),
    };
    let states = JobStatus::ALL.iter().copied().map(|status| Segment {
        href: url.clone().with("status", status.as_str()).to_string(),
        label: JobStateStyle::of(status).word.to_owned(),
        count: None,
        is_current: now == status.as_str(),
    });
    std::iter::once(all).chain(states).collect()
}

/// The columns; before them the page's checkbox, where rows can be selected.
fn head(
    selectable: Option<(Selection, StoredValue<Vec<Uuid>>, bool)>,
    columns: &JobColumns,
    is_reversed: bool,
    reversed: Option<&str>,
) -> AnyView {
    view! {
        {selectable
            .map(|(selection, page, is_of_all)| {
                view! {
                    <th scope="col">
                        <PageCheckbox selection=selection page=page is_of_all=is_of_all />
                    </th>
                }
            })}
        <th scope="col">"Job"</th>
        {columns
            .iter()
            .map(|column| {
                let (_, label) = column.words();
                match column {
                    JobColumn::CreatedAt => accepted(is_reversed, reversed),
                    JobColumn::Error => view! {
                        <th scope="col" class="grow">
                            <span class="block min-w-[150px]">{label}</span>
                        </th>
                    }
                        .into_any(),
                    _ => view! { <th scope="col" class=if column.is_number() { "n" } else { "" }>{label}</th> }.into_any(),
                }
            })
            .collect_view()}
    }
    .into_any()
}

/// The column that the list is ordered by, with a link that reverses the order.
fn accepted(is_reversed: bool, reversed: Option<&str>) -> AnyView {
    let says = if is_reversed { "Accepted ↑" } else { "Accepted ↓" };
    let then = if is_reversed { "the newest first" } else { "the oldest first" };
    view! {
        <th scope="col" aria-sort=if is_reversed { "ascending" } else { "descending" }>
            {match reversed {
                Some(href) => {
                    view! { <Link href=href.to_owned() keep_scroll=true class="hover:text-ink" says=format!("Accepted, {then}")>{says}</Link> }.into_any()
                }
                None => "Accepted".into_any(),
            }}
        </th>
    }
    .into_any()
}
