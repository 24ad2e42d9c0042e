//! All bulk operations, newest first.

use super::steps::Steps;
use crate::calls::operations::list_operations;
use crate::components::deployment::operation_words::{about, what_it_does};
use crate::components::page_table::ConsolePage;
use crate::components::{LiveBadge, Loaded, NewerRows, OperationBadge, OperationProgress, PageHead};
use crate::format;
use crate::state::page_url::{self, PageUrl};
use crate::state::{clock, refresh, revision};
use crate::ui::{Ago, EmptyState, Glyph, Link, LinkButton, ListCard, PageLinks, Table};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::operation::{Operation, OperationState};
use model::rules::permission::Permission;
use model::views::{names::Names, operations::OperationList};
use std::time::Duration;

#[component]
pub fn OperationsPage() -> impl IntoView {
    let url = page_url::current();
    let list = revision::page_data(move || url.get().query(), list_operations);
    view! {
        <Loaded
            title=ConsolePage::Operations.title()
            data=list
            show=move |list, reader| {
                let may_steer = reader.is_some_and(|r| r.may(Permission::SteerJobs));
                view! { <Content list=list url=url.get_untracked() may_steer=may_steer /> }.into_any()
            }
        />
    }
    .into_any()
}

#[component]
fn Content(list: OperationList, url: PageUrl, may_steer: bool) -> impl IntoView {
    let OperationList { page, names, as_of } = list;
    let now = clock::now_or(as_of);
    let settled = url.settled();
    let query = settled.query();
    let newer = refresh::every(Duration::from_secs(2), move || list_operations(query.clone()));
    let ids = |list: &OperationList| list.page.items.iter().map(|operation| operation.id).collect::<Vec<_>>();
    let came = refresh::came(newer, page.items.first().map(|operation| operation.id), ids);
    let first_headline = headline(&page.items);
    let headline = Signal::derive(move || {
        newer.with(|list| {
            list.as_ref().map_or_else(|| first_headline.clone(), |list| headline(&list.page.items))
        })
    });
    let shown = format::counted(page.items.len() as i64, "operation shown", "operations shown");
    let pages = PageLinks::by_cursor(&settled, page.next_cursor.as_deref(), shown);
    let is_empty = page.items.is_empty();
    let (back, reload) = (StoredValue::new(settled.to_string()), settled.to_string());
    let head = move || {
        view! {
            <th scope="col" class="grow">"What"</th>
            <th scope="col">"State"</th>
            <th scope="col">"Progress"</th>
            <th scope="col">"By"</th>
            <th scope="col">"Requested"</th>
            {may_steer.then(|| view! { <th scope="col"><span class="sr-only">"Actions"</span></th> })}
        }
    };
    let empty = || {
        view! {
            <EmptyState
                glyph=Glyph::List
                title="No bulk operations yet"
                text="Filter jobs or dead letters and requeue, cancel or purge all that match. The operation is listed here with its progress and can be undone for 24 hours."
            >
                <LinkButton href="/dead-letters">"Dead letters"</LinkButton>
            </EmptyState>
        }
    };
    view! {
        <PageHead title=ConsolePage::Operations.title() headline=headline>
            <LiveBadge as_of=as_of />
        </PageHead>
        <ListCard
            title="All operations"
            sub="newest first"
            toolbar=move || view! { <NewerRows count=came href=reload /> }
            is_empty=is_empty
            empty=empty
            pages=pages
        >
            <Table label="Bulk operations" stacks=true head=head>
                {page
                    .items
                    .into_iter()
                    .map(|first| {
                        let id = first.id;
                        let row = refresh::row(first, move || {
                            newer.with(|list| list.as_ref()?.page.items.iter().find(|o| o.id == id).cloned())
                        });
                        view! {
                            <Row row=row names=names.clone() now=now may_steer=may_steer back=back.get_value() />
                        }
                    })
                    .collect_view()}
            </Table>
        </ListCard>
    }
    .into_any()
}

fn headline(operations: &[Operation]) -> String {
    let in_progress = operations
        .iter()
        .filter(|o| {
            matches!(o.state, OperationState::Held | OperationState::Running | OperationState::Paused)
        })
        .count() as i64;
    match in_progress {
        0 => "No bulk operation is in progress.".to_owned(),
        n => format!("**{}** in progress", format::counted(n, "operation is", "operations are")),
    }
}

#[component]
fn Row(
    row: Memo<Operation>,
    names: Names,
    now: Signal<DateTime<Utc>>,
    may_steer: bool,
    back: String,
) -> impl IntoView {
    let first = row.get_untracked();
    let (href, what, sentence) =
        (format!("/operations/{}", first.id), what_it_does(&first), about(&first, &names));
    let Operation { reason, requested_by, created_at, .. } = first;
    view! {
        <tr>
            <td class="grow what">
                <Link href=href class="font-medium hover:underline">
                    {what}
                </Link>
                <p class="type-label text-faint">{sentence}</p>
                {reason.map(|reason| view! { <p class="type-label text-muted">{reason}</p> })}
            </td>
            <td class="state">
                <OperationBadge state=Signal::derive(move || row.with(|o| o.state)) />
            </td>
            <td class="rest">
                <OperationProgress operation=row />
            </td>
            <td class="first text-muted" data-label="by">{requested_by}</td>
            <td class="when text-muted">
                <Ago at=created_at now=now />
            </td>
            {may_steer
                .then(|| {
                    view! {
                        <td class="actions">
                            <div class="flex justify-end gap-1.5">
                                <Steps operation=row now=now back=back />
                            </div>
                        </td>
                    }
                })}
        </tr>
    }
    .into_any()
}
