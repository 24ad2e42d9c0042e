//! Jobs in every state, filtered by the address. Visible rows change in place, new ones wait behind a link.

mod columns;
mod empty;
mod head;
mod states;
mod table;

use self::columns::{Accepted, Selectable};
use self::empty::{NoJobs, Refused};
use self::head::Head;
use self::states::{States, shown};
use self::table::{JobTable, fresh};
use super::columns::ChooseColumns;
use super::offered::Offered;
use super::selection_bar::{Selected, SelectionBar};
use super::views::Views;
use crate::calls::bulk::Bulk;
use crate::calls::error::CallError;
use crate::calls::jobs::list_jobs;
use crate::calls::saved_views::list_views;
use crate::calls::session::Session;
use crate::components::page_table::ConsolePage;
use crate::components::{FilterBar, FilterSentence, Loaded, NewerRows};
use crate::pages::bulk_question::{Asked, Question, ask, origin};
use crate::state::page_url::{self, PageUrl};
use crate::state::selection::Selection;
use crate::state::{clock, freeze, refresh, revision, url_filters};
use crate::ui::{ListCard, PageLinks, form_action};
use leptos::prelude::*;
use model::job::JobStatus;
use model::operation::BulkSubject;
use model::rules::permission::Permission;
use model::saved_view::SavedView;
use model::views::job_list::JobList;
use std::time::Duration;
use uuid::Uuid;

#[component]
pub fn JobsPage() -> impl IntoView {
    let url = page_url::current();
    let selection = Selection::new();
    let page = revision::page_data(
        move || url.get().query(),
        |query| async move {
            let question = ask(BulkSubject::Jobs, &query).await;
            Ok::<_, CallError>((list_jobs(query, true).await?, list_views().await?, question))
        },
    );
    view! {
        <Loaded
            title=ConsolePage::Jobs.title()
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
    question: Option<Asked>,
) -> impl IntoView {
    let JobList { page, names, columns, choices, refused, matched, may_turn, as_of } = list;
    let may_steer = reader.as_ref().is_some_and(|reader| reader.may(Permission::SteerJobs));
    let query = url.query();
    let is_first_page = url.get("cursor").is_none();
    let accepted = Accepted::of(&url, may_turn);
    let is_reversed = accepted.is_reversed;
    let newer = refresh::every(Duration::from_secs(3), move || list_jobs(query.clone(), false));
    let newest_id = page.items.first().map(|job| job.id);
    let fresh = fresh(newer, newest_id, is_first_page && !is_reversed);
    let now = clock::now_or(as_of);
    let settled = url.clone().settled();
    let reload = settled.to_string();
    let has_filter = !url_filters::active(&url).is_empty();
    let is_part = page.next_cursor.is_some() || !is_first_page;
    let shown = shown(page.items.len(), matched.filter(|_| is_part));
    let pages = PageLinks::by_cursor(&settled, page.next_cursor.as_deref(), shown);
    let pages = if is_reversed { pages.called("Oldest", "Newer") } else { pages };
    let (clear, asked_from) = (url_filters::cleared(&url).to_string(), url.clone());
    let bulk = form_action::<Bulk>();
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
    let filtered_state = url.get("status").and_then(|word| word.parse::<JobStatus>().ok());
    let of_all = Offered::on_all(filtered_state, matched);
    let states: Vec<_> = page.items.iter().map(|job| (job.id, job.status)).collect();
    // For the selected rows, or for all on the page while none is selected.
    let of_selected = Memo::new(move |_| {
        let is_meant = |id: Uuid| selection.is_empty() || selection.has(id);
        let here = fresh.with(|(newest, _)| {
            let meant = states.iter().filter(|(id, _)| is_meant(id.0));
            Offered::on(meant.map(|(id, first)| newest.get(id).map_or(*first, |(state, _)| *state)))
        });
        let has_others = on_page.with_value(|page| !selection.elsewhere(page).is_empty());
        if has_others { here.or(Offered::on_any(filtered_state)) } else { here }
    });
    let is_empty = page.items.is_empty();
    // Filters that no index serves: none found among the jobs searched so far.
    let has_more = page.next_cursor.is_some();
    let is_refused = !refused.is_empty();
    let bar_url = here.with("ticked", settled.get("ticked").unwrap_or_default());
    let (filter_names, offered) = (names.clone(), columns.clone());
    let of_head = if may_steer && has_filter && !is_empty { of_all } else { Offered::default() };
    let selectable = may_steer.then_some(Selectable { selection, page: on_page, is_of_all });
    view! {
        <Head url=settled.clone() offered=of_head as_of=as_of />
        <Views views=views url=url.clone() reader=reader as_of=as_of />
        <States url=settled.clone() />
        <ListCard
            title="All jobs"
            sub=if has_filter { "filtered" } else { "finished jobs: last 24 h" }
            toolbar=move || {
                view! {
                    <FilterBar url=url.clone() path="/jobs" choices=choices names=filter_names.clone() />
                    <FilterSentence url=url noun="jobs" names=filter_names />
                    <ChooseColumns columns=offered here=settled />
                    {is_refused.then(|| view! { <Refused names=refused /> })}
                    <NewerRows count=Signal::derive(move || fresh.with(|(_, new)| *new)) href=reload />
                }
            }
            is_empty=is_empty || is_refused
            empty=move || {
                (!is_refused)
                    .then(|| {
                        view! {
                            <NoJobs clear=has_filter.then_some(clear) has_more=has_more />
                        }
                    })
            }
            actions=move || {
                may_steer
                    .then(|| {
                        view! {
                            <SelectionBar
                                here=bar_url
                                selection=selection
                                page=on_page
                                matched=matched
                                has_filter=has_filter
                                of_selected=of_selected
                                of_all=of_all
                                bulk=bulk
                            />
                        }
                    })
            }
            pages=pages
        >
            <JobTable
                jobs=page.items
                names=names
                columns=columns
                accepted=accepted
                selectable=selectable
                fresh=fresh
                now=now
                as_of=as_of
            />
        </ListCard>
        {question.map(|asked| view! { <Question subject=BulkSubject::Jobs asked=asked url=asked_from bulk=bulk /> })}
    }
    .into_any()
}
