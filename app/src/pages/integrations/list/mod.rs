//! All integrations: filtered, sorted and grouped by the address, one page at a time, live in place.

mod columns;
mod filter;

use self::{columns::columns, filter::Filter};
use super::bulk::{BulkActions, Question};
use super::groups::Groups;
use super::row::Row;
use crate::calls::integration_list::{ask_integrations, list_integrations};
use crate::components::page_table::ConsolePage;
use crate::components::{EmptyList, LiveBadge, Loaded, PageHead};
use crate::format;
use crate::state::page_url::{self, PageUrl};
use crate::state::{integration_query, live, refresh, revision};
use crate::ui::{Glyph, Link, ListCard, PageLinks, Remount, Segment, Segmented, Table};
use leptos::prelude::*;
use model::integration_bulk::IntegrationBulkAction;
use model::integration_query::Only;
use model::rules::permission::Permission;
use model::stats::Snapshot;
use model::views::integration_list::{IntegrationList, PAGE_ROWS};
use std::time::Duration;

#[component]
pub fn IntegrationsPage() -> impl IntoView {
    let url = page_url::current();
    let page = revision::page_data(
        move || url.get().query(),
        |query| async move {
            let asked = PageUrl::parse(&format!("/integrations?{query}"));
            let action = asked.get("confirm").and_then(|word| word.parse::<IntegrationBulkAction>().ok());
            let question = match action {
                Some(action) => Some((action, ask_integrations(query.clone()).await)),
                None => None,
            };
            // Behind a question about selected rows is the list they were selected in.
            let list = asked.get("back").map_or(query, |back| PageUrl::parse_back(back).query());
            list_integrations(list).await.map(|list| (list, question))
        },
    );
    view! {
        <Loaded
            title=ConsolePage::Integrations.title()
            data=page
            show=move |(list, question), reader| {
                let may_steer = reader.is_some_and(|r| r.may(Permission::Configure));
                let asked = url.get_untracked();
                let here = asked.get("back").map_or_else(|| asked.clone(), PageUrl::parse_back).settled();
                view! {
                    <Content first=list here=here may_steer=may_steer />
                    {question.map(|(action, answer)| view! { <Question action=action answer=answer url=asked /> })}
                }
                    .into_any()
            }
        />
    }
    .into_any()
}

#[component]
fn Content(first: IntegrationList, here: PageUrl, may_steer: bool) -> impl IntoView {
    let as_of = first.as_of;
    let revision = revision::current();
    let query = integration_query::parse(&here);
    let asked = here.query();
    let load = move || list_integrations(asked.clone());
    let newer = refresh::every(Duration::from_secs(10), load.clone());
    let (rows, groups) = (first.rows.clone(), first.groups.clone());
    let (matched, total) = (first.matched, first.total);
    let apps = first.apps.clone();
    let (shown, of) = match query.group {
        Some(_) => (groups.len() as i64, first.groups_total),
        None => (rows.len() as i64, matched),
    };
    let headline = format!(
        "**{}** of **{}**",
        format::counted(total, "integration", "integrations"),
        format::counted(first.apps_total, "app", "apps")
    );
    let list = Memo::new(move |_| newer.get().unwrap_or_else(|| first.clone()));
    let live = live::current().snapshot();
    // After an action on many the list is loaded with the snapshot of before. The first one of after it is streamed within a second.
    refresh::when(
        newer,
        move || list.with(|list| live.with(|live| has_other_states(live.as_ref(), list))),
        load,
    );
    let segments = {
        let (here, only) = (here.clone().without("page"), query.only);
        Signal::derive(move || {
            list.with(|list| {
                Only::ALL
                    .into_iter()
                    .zip(&list.counts)
                    .map(|(choice, count)| Segment {
                        href: here.clone().with("only", choice.as_str()).to_string(),
                        label: integration_query::label(choice).to_owned(),
                        count: Some(format::count(*count)),
                        is_current: choice == only,
                    })
                    .collect::<Vec<_>>()
            })
        })
    };
    // New matches are shown on request, so that nothing moves under the cursor.
    let reload = here.to_string();
    let arrived = Signal::derive(move || list.with(|list| list.matched) - matched);
    let has_more = ((query.page - 1) * PAGE_ROWS) as i64 + shown < of;
    let unit = match query.group {
        Some(_) => format::counted(of, "group", "groups"),
        None => format::counted(of, "integration", "integrations"),
    };
    let pages =
        PageLinks::numbered(&here, query.page, has_more, format!("{} of {unit} shown", format::count(shown)));
    let sub = if query.group.is_some() { "worst first" } else { "" };
    let is_empty = shown == 0;
    let clear = query.narrows().then(|| "/integrations".to_owned());
    let filtered = here.clone();
    let is_grouped = query.group.is_some();
    let content = if is_grouped {
        view! { <Groups groups=groups here=here.clone() /> }.into_any()
    } else {
        let head = {
            let (query, here) = (query.clone(), here.clone());
            move || columns(&query, &here, may_steer)
        };
        let rows = move || {
            rows.iter()
                .cloned()
                .map(|first| {
                    let id = first.gauge.integration_id;
                    let row = refresh::row((as_of, first), move || {
                        list.with(|list| {
                            let row = list.rows.iter().find(|row| row.gauge.integration_id == id)?;
                            Some((list.as_of, row.clone()))
                        })
                    });
                    view! { <Row row=row live=live may_select=may_steer /> }
                })
                .collect_view()
        };
        view! {
            <Table label="Integrations" stacks=true head=head>
                <Remount key=as_of>{rows.clone()}</Remount>
            </Table>
        }
        .into_any()
    };
    view! {
        <PageHead title=ConsolePage::Integrations.title() headline=headline>
            <LiveBadge as_of=as_of />
            <Segmented label="Filter by state" segments=segments />
        </PageHead>
        <ListCard
            title="All integrations"
            sub=sub
            toolbar=move || {
                view! {
                    <Filter query=query here=filtered apps=apps />
                    {move || {
                        let n = arrived.get();
                        (n > 0)
                            .then(|| {
                                view! {
                                    // The address does not change, so the link alone would load nothing.
                                    <p class="px-4 pb-2" on:click=move |_| revision.next()>
                                        <Link href=reload.clone() keep_scroll=true class="link">
                                            {format!("{} more {}: show", format::count(n), if n == 1 { "matches" } else { "match" })}
                                        </Link>
                                    </p>
                                }
                            })
                    }}
                }
            }
            is_empty=is_empty
            empty=move || {
                view! {
                    <EmptyList
                        clear=clear
                        no_match=("No integrations match these filters", "Clear the filters to see all integrations.")
                        glyph=Glyph::Plug
                        nothing=("No integrations yet", "Create one with POST /api/v1/integrations.")
                    />
                }
            }
            actions=move || {
                (may_steer && !is_grouped).then(|| view! { <BulkActions here=here matched=matched /> })
            }
            pages=pages
        >
            {content}
        </ListCard>
    }
    .into_any()
}

/// Whether the stream knows of a row that was paused or resumed after the list was sampled.
fn has_other_states(live: Option<&Snapshot>, list: &IntegrationList) -> bool {
    let Some(live) = live.filter(|live| live.at > list.as_of) else { return false };
    list.rows.iter().any(|row| {
        let id = row.gauge.integration_id;
        let at = live.integrations.binary_search_by_key(&id, |gauge| gauge.integration_id);
        at.is_ok_and(|at| live.integrations[at].state != row.gauge.state)
    })
}
