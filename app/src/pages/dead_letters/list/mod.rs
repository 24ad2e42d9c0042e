//! Dead letters, newest first: filter, select, requeue, purge. Rows stay where they are, new ones wait behind a link.

mod head;
mod row;
mod selected_actions;

use self::head::Head;
use self::row::{Row, columns};
use self::selected_actions::SelectedActions;
use super::bin::{self, Bin};
use super::grid::{self, Grid};
use crate::calls::dead_letters::{list_bin, list_dead_letters};
use crate::components::page_table::ConsolePage;
use crate::components::{EmptyList, FilterBar, FilterSentence, Loaded, NewerRows};
use crate::format;
use crate::pages::bulk_question::{Asked, Question, ask};
use crate::state::page_url::{self, PageUrl};
use crate::state::{clock, freeze, grid_url, live, refresh, revision, url_filters};
use crate::ui::{Glyph, ListCard, PageLinks, Remount, Table, Tone, form_action};
use leptos::prelude::*;
use model::dead_letter::DeadLetter;
use model::dead_letter_grid::DeadLetterGrid;
use model::id::DeadLetterId;
use model::operation::BulkSubject;
use model::page::Page;
use model::rules::permission::Permission;
use model::views::dead_letters::{self, DeadLetterList};
use model::views::names::Names;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, time::Duration};

#[component]
pub fn DeadLettersPage() -> impl IntoView {
    let url = page_url::current();
    let page = revision::page_data(
        move || url.get().query(),
        |query| async move {
            if PageUrl::parse(&format!("/?{query}")).get("show") == Some(bin::SHOWN) {
                return list_bin(query).await.map(Shown::Bin);
            }
            let question = ask(BulkSubject::DeadLetters, &query).await;
            list_dead_letters(query).await.map(|list| Shown::List(Box::new(list), question))
        },
    );
    view! {
        <Loaded
            title=ConsolePage::DeadLetters.title()
            data=page
            show=move |shown, reader| {
                let may = move |permission| reader.as_ref().is_some_and(|r| r.may(permission));
                let rights = Rights { steer: may(Permission::SteerJobs), purge: may(Permission::Purge) };
                let here = url.get_untracked();
                match shown {
                    Shown::Bin(bin) => view! { <Bin bin=bin url=here may_steer=rights.steer /> }.into_any(),
                    Shown::List(list, question) => view! {
                        <Content list=*list url=here.clone() rights=rights />
                        {question
                            .map(|asked| {
                                view! { <Question subject=BulkSubject::DeadLetters asked=asked url=here bulk=form_action() /> }
                            })}
                    }
                        .into_any(),
                }
            }
        />
    }
    .into_any()
}

/// The list, or the bin.
#[derive(Clone, Serialize, Deserialize)]
enum Shown {
    List(Box<DeadLetterList>, Option<Asked>),
    Bin(dead_letters::Bin),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rights {
    steer: bool,
    purge: bool,
}

#[component]
fn Content(list: DeadLetterList, url: PageUrl, rights: Rights) -> impl IntoView {
    let DeadLetterList { page, grid, names, choices, as_of } = list;
    let now = clock::now_or(as_of);
    let settled = url.clone().settled();
    let query = settled.query();
    // Every change of a job moves one of the totals.
    let totals = live::current().snapshot();
    let totals =
        Memo::new(move |_| totals.with(|snapshot| snapshot.as_ref().map(|snapshot| snapshot.totals)));
    let newer =
        refresh::while_changing(Duration::from_secs(3), totals, move || list_dead_letters(query.clone()));
    let ids = |list: &DeadLetterList| list.page.items.iter().map(|letter| letter.id).collect::<Vec<_>>();
    let came = refresh::came(newer, page.items.first().map(|letter| letter.id), ids);
    let selected = RwSignal::new(BTreeSet::<DeadLetterId>::new());
    // People decide on what they see: while rows are selected the page is frozen.
    freeze::while_true(Signal::derive(move || !selected.with(BTreeSet::is_empty)));
    let has_filter = !url_filters::active(&url).is_empty();
    let is_empty = page.items.is_empty();
    // Filters that no index serves: none found among those searched so far.
    let has_more = is_empty && page.next_cursor.is_some();
    let no_match = if has_more {
        ("Nothing found yet", "No index covers these filters. Search on with the link below, or add filters.")
    } else {
        ("No dead letters match these filters", "Clear the filters to see all dead letters.")
    };
    let matched = grid.as_ref().map(|grid| grid::number(grid.total, grid.is_least));
    let shown = match matched {
        Some(matched) => format!("{} of {matched} shown", format::count(page.items.len() as i64)),
        None => format::counted(page.items.len() as i64, "dead letter shown", "dead letters shown"),
    };
    let pages = PageLinks::by_cursor(&settled, page.next_cursor.as_deref(), shown);
    let clear = has_filter.then(|| url_filters::cleared(&url).to_string());
    let loaded = Numbers { grid, names: names.clone() };
    let numbers = Memo::new(move |shown: Option<&Numbers>| {
        let shown = shown.unwrap_or(&loaded);
        newer.with(|list| list.as_ref().map_or_else(|| shown.clone(), |list| shown.newer(list)))
    });
    let headline =
        Signal::derive(move || numbers.with(|numbers| headline(numbers.grid.as_ref(), has_filter)));
    // A change of filters starts the grid from its first page.
    let filtered = grid_url::first_page(&url);
    let filter_names = names.clone();
    let (back, reload) = (settled.to_string(), settled.to_string());
    let row_names = names;
    let rows = move || {
        page.items
            .iter()
            .cloned()
            .map(|letter| {
                let id = letter.id;
                let is_gone = Memo::new(move |_| {
                    newer.with(|list| list.as_ref().is_some_and(|list| has_lost(&list.page, id)))
                });
                view! { <Row names=row_names.clone() letter=letter now=now rights=rights selected=selected is_gone=is_gone /> }
            })
            .collect_view()
    };
    view! {
        <Head headline=headline url=url.clone() has_filter=has_filter is_empty=is_empty rights=rights as_of=as_of />
        <div class="stack">
            {move || {
                let Numbers { grid, names } = numbers.get();
                grid.filter(DeadLetterGrid::is_worth_showing)
                    .map(|grid| view! { <Grid grid=grid names=names url=url.clone() /> })
            }}
            <ListCard
                title="All dead letters"
                sub="newest first"
                toolbar=move || {
                    view! {
                        <FilterBar url=filtered.clone() path="/dead-letters" choices=choices names=filter_names.clone() />
                        <FilterSentence url=filtered noun="dead letters" names=filter_names />
                        <NewerRows count=came href=reload />
                    }
                }
                is_empty=is_empty
                empty=move || {
                    view! {
                        <EmptyList
                            clear=clear
                            no_match=no_match
                            glyph=Glyph::Check
                            tone=Tone::Delivered
                            nothing=("No dead letters", "No job has failed for good.")
                        />
                    }
                }
                actions=move || view! { <SelectedActions rights=rights back=back /> }
                pages=pages
            >
                <Table label="Dead letters" stacks=true head=move || columns(rights)>
                    <Remount key=as_of>{rows.clone()}</Remount>
                </Table>
            </ListCard>
        </div>
    }
    .into_any()
}

/// What the page says about all that match.
#[derive(Clone, PartialEq)]
struct Numbers {
    /// `None`: counting took too long.
    grid: Option<DeadLetterGrid>,
    /// Names of its integrations.
    names: Names,
}

impl Numbers {
    /// Those of a newer list, in the order of these.
    fn newer(&self, list: &DeadLetterList) -> Self {
        let grid = match (&self.grid, list.grid.clone()) {
            (Some(shown), Some(newer)) => Some(grid::in_the_order_of(shown, newer)),
            (_, newer) => newer,
        };
        Self { grid, names: list.names.clone() }
    }
}

/// Whether a letter on screen is no longer in the list. Those older than its last may be on its next page.
fn has_lost(newer: &Page<DeadLetter>, id: DeadLetterId) -> bool {
    let is_covered = newer.next_cursor.is_none() || newer.items.last().is_some_and(|last| last.id < id);
    is_covered && newer.items.iter().all(|letter| letter.id != id)
}

/// How many there are, and what to do.
fn headline(grid: Option<&DeadLetterGrid>, has_filter: bool) -> String {
    let Some(grid) = grid.filter(|grid| grid.total > 0) else {
        return "Jobs that will not be retried automatically.".to_owned();
    };
    let n = grid::number(grid.total, grid.is_least);
    let letters = if grid.total == 1 { "dead letter" } else { "dead letters" };
    let causes = format::counted(grid.causes_total, "cause", "causes");
    if has_filter {
        format!("**{n} {letters}** with these filters, from **{causes}**")
    } else {
        format!("**{n} {letters}** from **{causes}**: fix the cause, then requeue")
    }
}
