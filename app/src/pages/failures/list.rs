//! Failure groups, worst first.

use super::filters::Filters;
use super::group::Group;
use super::question::{Question, retried};
use super::row::Row;
use super::{filters, group_words};
use crate::calls::bulk::preview;
use crate::calls::failures::list_failures;
use crate::components::page_table::ConsolePage;
use crate::components::{EmptyList, LiveBadge, Loaded, NewerRows, PageHead};
use crate::format;
use crate::state::page_url::{self, PageUrl};
use crate::state::{clock, failure_query, refresh, revision};
use crate::ui::{Glyph, ListCard, PageLinks, Segmented, Table, Tone};
use leptos::prelude::*;
use model::failure::{CauseId, FailureGroup};
use model::operation::{BulkAction, BulkSubject};
use model::page::Page;
use model::rules::permission::Permission;
use model::views::failures::FailureList;
use std::{collections::BTreeSet, time::Duration};

#[component]
pub fn FailuresPage() -> impl IntoView {
    let url = page_url::current();
    let page = revision::page_data(
        move || (url.with(retried), url.get().query()),
        |(retried, query)| async move {
            let question = match retried {
                Some(query) => Some(preview(BulkSubject::Jobs, BulkAction::Requeue, query).await),
                None => None,
            };
            list_failures(query).await.map(|list| (list, question))
        },
    );
    view! {
        <Loaded
            title=ConsolePage::Failures.title()
            data=page
            show=move |(list, question), reader| {
                let may_steer = reader.is_some_and(|r| r.may(Permission::SteerJobs));
                let here = url.get_untracked();
                view! {
                    <Content list=list url=here.clone() may_steer=may_steer />
                    {question.map(|answer| view! { <Question answer=answer url=here /> })}
                }
                    .into_any()
            }
        />
    }
    .into_any()
}

#[component]
fn Content(list: FailureList, url: PageUrl, may_steer: bool) -> impl IntoView {
    let FailureList { page, open, group, choices, as_of } = list;
    let now = clock::now_or(as_of);
    let query = url.query();
    let newer = refresh::every(Duration::from_secs(3), move || list_failures(query.clone()));
    let settled = url.settled().without("confirm");
    let here = settled.clone().without("group");
    let is_first_page = settled.get("cursor").is_none();
    let is_empty = page.items.is_empty();
    let shown = format::counted(page.items.len() as i64, "group shown", "groups shown");
    let pages = PageLinks::by_cursor(&here, page.next_cursor.as_deref(), shown).called("First", "More");
    let on_page: BTreeSet<_> = page.items.iter().map(|group| group.fingerprint).collect();
    // New groups since the page was loaded. Put where they belong, they would move others.
    let came = Memo::new(move |_| {
        newer.with(|list| {
            let groups = list.iter().filter(|_| is_first_page).flat_map(|list| &list.page.items);
            groups.filter(|group| !on_page.contains(&group.fingerprint)).count()
        })
    });
    let open = Memo::new(move |_| newer.with(|list| list.as_ref().map_or(open, |list| list.open)));
    let headline = Signal::derive(move || headline(open.get()));
    let states = Signal::derive({
        let here = here.clone();
        move || filters::states(&here, group_words::bounded(open.get()))
    });
    let is_narrowed = failure_query::is_narrowed(&here);
    let clear = is_narrowed.then(|| here.clone().without("app_id").without("integration_id").to_string());
    let nothing = match here.get("state") {
        None | Some("open") => ("No open failures", "All failures are snoozed, fixed or over."),
        _ => ("No group is in this state", "Groups without jobs stay here for 7 days."),
    };
    let filtered = here.clone();
    let head = || {
        view! {
            <th scope="col" class="grow"><span class="block min-w-[220px]">"Cause"</span></th>
            <th scope="col">"State"</th>
            <th scope="col">"Last 12 hours"</th>
            <th scope="col" class="n">"To be retried"</th>
            <th scope="col" class="n">"Dead letters"</th>
            <th scope="col">"Affected"</th>
            <th scope="col">"First"</th>
            <th scope="col">"Last"</th>
            <th scope="col"><span class="sr-only">"Actions"</span></th>
        }
    };
    view! {
        <PageHead title=ConsolePage::Failures.title() headline=headline>
            <LiveBadge as_of=as_of />
        </PageHead>
        <div class="mb-3 flex">
            <Segmented label="State" segments=states />
        </div>
        <div class="stack">
            {group.map(|detail| view! { <Group detail=detail newer=newer here=settled now=now may_steer=may_steer /> })}
            <ListCard
                title="By cause"
                sub="most jobs first"
                toolbar=move || {
                    view! {
                        <Filters url=filtered.clone() choices=choices />
                        <NewerRows count=came href=filtered.to_string() />
                    }
                }
                is_empty=is_empty
                empty=move || {
                    view! {
                        <EmptyList
                            clear=clear
                            no_match=("No group with these filters is in this state", "There may be others: clear the filters to see all.")
                            glyph=Glyph::Check
                            tone=Tone::Delivered
                            nothing=nothing
                        />
                    }
                }
                pages=pages
            >
                <Table label="Failures by cause" stacks=true head=head>
                    {page
                        .items
                        .into_iter()
                        .map(|first| {
                            let id = first.fingerprint;
                            let group = refresh::row(first, move || {
                                newer.with(|list| list.as_ref()?.page.items.iter().find(|group| group.fingerprint == id).cloned())
                            });
                            let has_left = Memo::new(move |_| {
                                is_first_page && newer.with(|list| list.as_ref().is_some_and(|list| has_lost(&list.page, id)))
                            });
                            view! { <Row group=group has_left=has_left here=here.clone() now=now may_steer=may_steer /> }
                        })
                        .collect_view()}
                </Table>
            </ListCard>
        </div>
    }
    .into_any()
}

/// Whether a group on screen has left the list: it is snoozed, fixed or over by now. A list with more pages may have it on another one.
fn has_lost(newer: &Page<FailureGroup>, id: CauseId) -> bool {
    newer.next_cursor.is_none() && newer.items.iter().all(|group| group.fingerprint != id)
}

/// How many causes are open.
fn headline(open: i64) -> String {
    match open {
        0 => "No open failures.".to_owned(),
        1 => "**1 cause** is open: fix it, then retry the group.".to_owned(),
        _ => format!("**{} causes** are open: fix one, then retry its group.", group_words::bounded(open)),
    }
}
