//! Re-syncs: their progress, and when they will be done.

mod question;
mod row;

use self::{question::CancelQuestion, row::Row};
use crate::calls::resyncs::list_resyncs;
use crate::components::page_table::ConsolePage;
use crate::components::{LiveBadge, Loaded, NewerRows, PageHead};
use crate::format;
use crate::state::page_url::{self, PageUrl};
use crate::state::{clock, refresh, revision};
use crate::ui::{EmptyState, Glyph, LinkButton, ListCard, PageLinks, Table};
use leptos::prelude::*;
use model::id::ResyncId;
use model::resync::{Resync, ResyncState};
use model::rules::permission::Permission;
use model::views::resyncs::ResyncList;
use std::time::Duration;

#[component]
pub fn ResyncsPage() -> impl IntoView {
    let url = page_url::current();
    let list = revision::page_data(move || url.get().query(), list_resyncs);
    view! {
        <Loaded
            title=ConsolePage::Resyncs.title()
            data=list
            show=move |list, reader| {
                let may_steer = reader.is_some_and(|r| r.may(Permission::Resync));
                view! { <Content list=list url=url.get_untracked() may_steer=may_steer /> }.into_any()
            }
        />
    }
    .into_any()
}

#[component]
fn Content(list: ResyncList, url: PageUrl, may_steer: bool) -> impl IntoView {
    let as_of = list.as_of;
    let now = clock::now_or(as_of);
    let query = url.query();
    let newer = refresh::every(Duration::from_secs(2), move || list_resyncs(query.clone()));
    let ids = |list: &ResyncList| list.page.items.iter().map(|resync| resync.id).collect::<Vec<_>>();
    let came = refresh::came(newer, list.page.items.first().map(|resync| resync.id), ids);
    let names = list.names;
    let settled = url.clone().settled();
    let shown = format::counted(list.page.items.len() as i64, "re-sync shown", "re-syncs shown");
    let pages = PageLinks::by_cursor(&settled, list.page.next_cursor.as_deref(), shown);
    let is_empty = list.page.items.is_empty();
    let first_headline = headline(&list.page.items);
    let headline = Signal::derive(move || {
        newer.with(|list| {
            list.as_ref().map_or_else(|| first_headline.clone(), |list| headline(&list.page.items))
        })
    });
    let asked = url.get("cancel").and_then(|id| id.parse::<ResyncId>().ok());
    let question = asked.and_then(|id| list.page.items.iter().find(|r| r.id == id).cloned());
    let rows: Vec<_> = list.page.items;
    let back = settled.without("cancel").to_string();
    let (steer_back, reload) = (StoredValue::new(back.clone()), back.clone());
    let head = || {
        view! {
            <th scope="col">"Integration"</th>
            <th scope="col">"State"</th>
            <th scope="col">"Progress"</th>
            <th scope="col">"Scope"</th>
            <th scope="col">"Started"</th>
            <th scope="col">"By"</th>
            <th scope="col"><span class="sr-only">"Actions"</span></th>
        }
    };
    let empty = || {
        view! {
            <EmptyState
                glyph=Glyph::Sync
                title="No re-syncs yet"
                text="Open an integration and press Re-sync to send all its records, or those not in sync."
            >
                <LinkButton href="/integrations">"Integrations"</LinkButton>
            </EmptyState>
        }
    };
    view! {
        <PageHead title=ConsolePage::Resyncs.title() headline=headline>
            <LiveBadge as_of=as_of />
        </PageHead>
        <ListCard
            title="All re-syncs"
            sub="newest first"
            toolbar=move || view! { <NewerRows count=came href=reload /> }
            is_empty=is_empty
            empty=empty
            pages=pages
        >
            <Table label="Re-syncs" stacks=true head=head>
                {rows
                    .into_iter()
                    .map(|first| {
                        let id = first.id;
                        let names = names.clone();
                        let row = refresh::row(first, move || {
                            newer.with(|list| list.as_ref()?.page.items.iter().find(|r| r.id == id).cloned())
                        });
                        view! { <Row row=row names=names now=now may_steer=may_steer back=steer_back.get_value() /> }
                    })
                    .collect_view()}
            </Table>
        </ListCard>
        {question.filter(|_| may_steer).map(|resync| view! { <CancelQuestion resync=resync back=back /> })}
    }
    .into_any()
}

/// How many of those on the page are running.
fn headline(resyncs: &[Resync]) -> String {
    let running = resyncs.iter().filter(|resync| resync.state == ResyncState::Running).count() as i64;
    match running {
        0 => "No re-sync is running.".to_owned(),
        n => format!("**{}** running", format::counted(n, "re-sync is", "re-syncs are")),
    }
}
