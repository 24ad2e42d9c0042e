//! Dead letters, newest first: filter, select, requeue, purge.

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
use crate::components::{EmptyList, FilterBar, FilterSentence, Loaded};
use crate::format;
use crate::pages::bulk_question::{Asked, Question, ask};
use crate::state::page_url::{self, PageUrl};
use crate::state::{clock, grid_url, revision, url_filters};
use crate::ui::{Glyph, ListCard, PageLinks, Remount, Table, Tone, form_action};
use leptos::prelude::*;
use model::dead_letter_grid::DeadLetterGrid;
use model::operation::BulkSubject;
use model::rules::permission::Permission;
use model::views::dead_letters::{self, DeadLetterList};
use serde::{Deserialize, Serialize};

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
    let has_filter = !url_filters::active(&url).is_empty();
    let is_empty = page.items.is_empty();
    // Filters that no index serves: none found among those searched so far.
    let has_more = is_empty && page.next_cursor.is_some();
    let no_match = if has_more {
        ("None found so far", "No index serves these filters: search on with the link below, or add filters.")
    } else {
        ("No dead letter matches these filters", "There may be others: clear the filters to see all.")
    };
    let matched = grid.as_ref().map(|grid| grid::number(grid.total, grid.is_least));
    let shown = match matched {
        Some(matched) => format!("{} of {matched} shown", format::count(page.items.len() as i64)),
        None => format::counted(page.items.len() as i64, "dead letter shown", "dead letters shown"),
    };
    let pages = PageLinks::by_cursor(&settled, page.next_cursor.as_deref(), shown);
    let clear = has_filter.then(|| url_filters::cleared(&url).to_string());
    let headline = headline(if is_empty { None } else { grid.as_ref() }, has_filter);
    let grid = grid.filter(DeadLetterGrid::is_worth_showing);
    // A change of filters starts the grid from its first page.
    let filtered = grid_url::first_page(&url);
    let filter_names = names.clone();
    let back = settled.to_string();
    let row_names = names.clone();
    let rows = move || {
        page.items
            .iter()
            .cloned()
            .map(|letter| view! { <Row names=row_names.clone() letter=letter now=now rights=rights /> })
            .collect_view()
    };
    view! {
        <Head headline=headline url=url.clone() has_filter=has_filter is_empty=is_empty rights=rights as_of=as_of />
        <div class="stack">
            {grid.map(|grid| view! { <Grid grid=grid names=names.clone() url=url /> })}
            <ListCard
                title="List"
                sub="newest first, each kept until it is requeued or purged"
                toolbar=move || {
                    view! {
                        <FilterBar url=filtered.clone() path="/dead-letters" choices=choices names=filter_names.clone() />
                        <FilterSentence url=filtered noun="dead letters" names=filter_names />
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
                            nothing=("No dead letters", "Every job was delivered, waits for its first attempt, or will be retried.")
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

/// How many there are, and what to do.
fn headline(grid: Option<&DeadLetterGrid>, has_filter: bool) -> String {
    let Some(grid) = grid else { return "Jobs that will not be tried again by themselves.".to_owned() };
    let n = grid::number(grid.total, grid.is_least);
    let letters = if grid.total == 1 { "dead letter" } else { "dead letters" };
    let causes = format::counted(grid.causes_total, "cause", "causes");
    if has_filter {
        format!("**{n} {letters}** with these filters, of **{causes}**")
    } else {
        format!("**{n} {letters}** of **{causes}**: fix the cause, then requeue")
    }
}
