//! The head of the list's table.

use super::super::checkbox::PageCheckbox;
use crate::state::job_columns::{heading, is_number};
use crate::state::page_url::PageUrl;
use crate::state::selection::Selection;
use crate::state::url_filters;
use crate::ui::Link;
use leptos::prelude::*;
use model::job_columns::{JobColumn, JobColumns};
use model::page::Order;
use uuid::Uuid;

/// Rows that can be selected.
#[derive(Clone, Copy)]
pub struct Selectable {
    pub selection: Selection,
    /// Those on this page.
    pub page: StoredValue<Vec<Uuid>>,
    /// All that match are selected, on whichever page.
    pub is_of_all: bool,
}

/// The columns; before them the page's checkbox, where rows can be selected.
pub fn columns(selectable: Option<Selectable>, columns: &JobColumns, accepted: &Accepted) -> AnyView {
    view! {
        {selectable
            .map(|Selectable { selection, page, is_of_all }| {
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
                let label = heading(column);
                match column {
                    JobColumn::CreatedAt => accepted.column(),
                    JobColumn::Error => view! {
                        <th scope="col" class="grow">
                            <span class="block min-w-[150px]">{label}</span>
                        </th>
                    }
                        .into_any(),
                    _ => view! { <th scope="col" class=if is_number(column) { "n" } else { "" }>{label}</th> }.into_any(),
                }
            })
            .collect_view()}
    }
    .into_any()
}

/// The column that the list is ordered by, with a link that reverses the order.
pub struct Accepted {
    pub is_reversed: bool,
    /// The list in reverse order, where that is offered.
    reversed: Option<String>,
}

impl Accepted {
    pub fn of(url: &PageUrl, may_reverse: bool) -> Self {
        let is_reversed = url_filters::order(url).is_ok_and(|order| order == Order::Oldest);
        let reversed = (is_reversed || may_reverse).then(|| {
            let first = url.clone().settled().without("cursor").without("ticked").without("sort");
            if is_reversed { first.to_string() } else { first.with("sort", "oldest").to_string() }
        });
        Self { is_reversed, reversed }
    }

    fn column(&self) -> AnyView {
        let says = if self.is_reversed { "Accepted ↑" } else { "Accepted ↓" };
        let then = if self.is_reversed { "the newest first" } else { "the oldest first" };
        view! {
            <th scope="col" aria-sort=if self.is_reversed { "ascending" } else { "descending" }>
                {match &self.reversed {
                    Some(href) => {
                        view! { <Link href=href.clone() keep_scroll=true class="hover:text-ink" says=format!("Accepted, {then}")>{says}</Link> }.into_any()
                    }
                    None => "Accepted".into_any(),
                }}
            </th>
        }
        .into_any()
    }
}
