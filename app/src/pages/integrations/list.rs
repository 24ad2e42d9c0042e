//! All integrations: filtered, sorted and grouped by the address, one page at a time, live in place.

use super::{
    bulk::{BulkActions, Question},
    groups::Groups,
    row::Row,
};
use crate::{
    calls::integration_list::{IntegrationList, PAGE_ROWS, ask_integrations, list_integrations},
    components::{EmptyList, LiveBadge, Loaded, PageHead},
    format,
    state::{
        base_path,
        integration_query::{Group, IntegrationQuery, Only, Order},
        live,
        page_url::{self, PageUrl},
        refresh, revision,
    },
    ui::{
        Button, Card, Glyph, Link, LinkButton, Remount, Segment, Segmented, SelectField, SelectOption, Table,
        TextField,
    },
};
use leptos::prelude::*;
use model::{
    integration::IntegrationType, integration_bulk::IntegrationBulkAction, rules::permission::Permission,
};
use std::time::Duration;

#[component]
pub fn IntegrationsPage() -> impl IntoView {
    let url = page_url::current();
    let revision = revision::current();
    let page = Resource::new_blocking(
        move || {
            let url = url.get();
            let action = url.get("confirm").and_then(|word| word.parse::<IntegrationBulkAction>().ok());
            (action, url.query(), revision.get())
        },
        |(action, query, _)| async move {
            let question = match action {
                Some(action) => Some((action, ask_integrations(query.clone()).await)),
                None => None,
            };
            // Behind a question about selected rows is the list they were selected in.
            let behind = PageUrl::parse(&format!("/integrations?{query}"));
            let list = behind.get("back").map_or(query, |back| PageUrl::parse_back(back).query());
            list_integrations(list).await.map(|list| (list, question))
        },
    );
    view! {
        <Loaded
            title="Integrations"
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
    let query = IntegrationQuery::of(&here);
    let asked = here.query();
    let newer = refresh::every(Duration::from_secs(10), move || list_integrations(asked.clone()));
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
    let segments = {
        let (here, only) = (here.clone().without("page"), query.only);
        Signal::derive(move || {
            list.with(|list| {
                Only::ALL
                    .into_iter()
                    .zip(&list.counts)
                    .map(|(choice, count)| Segment {
                        href: here.clone().with("only", choice.word().0).to_string(),
                        label: choice.word().1.to_owned(),
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
    let page_url = {
        let here = here.clone();
        move |page: usize| here.clone().with("page", page).to_string()
    };
    let before = (query.page > 1).then(|| page_url(query.page - 1));
    let more = (((query.page - 1) * PAGE_ROWS) as i64 + shown < of).then(|| page_url(query.page + 1));
    let unit = match query.group {
        Some(_) => format::counted(of, "group", "groups"),
        None => format::counted(of, "integration", "integrations"),
    };
    let count = format!("{} of {unit} shown", format::count(shown));
    let sub = if query.group.is_some() { "most attention first" } else { "each column sorts" };
    let is_empty = shown == 0;
    let clear = query.narrows().then(|| "/integrations".to_owned());
    let content = if is_empty {
        view! {
            <EmptyList
                clear=clear
                no_match=("None matches these filters", "Integrations exist, but not with this name, app, type and state.")
                glyph=Glyph::Plug
                nothing=("No integrations yet", "Create one with POST /api/v1/integrations: where changes go, how fast, and how they are signed.")
            />
        }
        .into_any()
    } else if query.group.is_some() {
        view! { <Groups groups=groups here=here.clone() /> }.into_any()
    } else {
        let head = {
            let (query, here) = (query.clone(), here.clone());
            move || head(&query, &here, may_steer)
        };
        let rows = move || {
            rows.iter()
                .cloned()
                .map(|first| {
                    let id = first.gauge.integration_id;
                    let row = refresh::row(first, move || {
                        list.with(|list| list.rows.iter().find(|row| row.gauge.integration_id == id).cloned())
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
        <PageHead title="Integrations" headline=headline>
            <LiveBadge as_of=as_of />
            <Segmented label="Which integrations" segments=segments />
        </PageHead>
        <Card title="All by state" sub=sub>
            <Filter query=query.clone() here=here.clone() apps=apps />
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
            {content}
            {(may_steer && !is_empty && query.group.is_none()).then(|| view! { <BulkActions here=here.clone() matched=matched /> })}
            {(!is_empty)
                .then(|| {
                    view! {
                        <nav class="flex flex-wrap items-center gap-2 px-4 py-2.5 border-t border-line type-label text-faint" aria-label="Pages">
                            <span class="mr-auto tabular-nums">{count}</span>
                            {before.map(|href| view! { <LinkButton href=href glyph=Glyph::ChevronLeft>"Previous"</LinkButton> })}
                            {more.map(|href| view! { <LinkButton href=href>"More"</LinkButton> })}
                        </nav>
                    }
                })}
        </Card>
    }
    .into_any()
}

#[component]
fn Filter(query: IntegrationQuery, here: PageUrl, apps: Vec<(model::id::AppId, String)>) -> impl IntoView {
    let value = |name: &str| here.get(name).unwrap_or_default().to_owned();
    let kept = ["only", "sort", "dir"].map(|name| (name, value(name)));
    let choices: Vec<_> = std::iter::once(SelectOption::new("", "All apps"))
        .chain(apps.iter().map(|(id, name)| SelectOption::new(id.to_string(), name.clone())))
        .collect();
    let kinds: Vec<_> = std::iter::once(SelectOption::new("", "All types"))
        .chain(IntegrationType::ALL.iter().map(|kind| SelectOption::new(kind.as_str(), kind.as_str())))
        .collect();
    let groups = vec![
        SelectOption::new("", "None"),
        SelectOption::new(Group::App.as_str(), "App"),
        SelectOption::new(Group::Type.as_str(), "Type"),
    ];
    // With too many apps to choose from, one chosen by a link is kept.
    let has_apps = !apps.is_empty();
    let (app_id, kept_app) = (value("app_id"), (!has_apps).then(|| value("app_id")));
    view! {
        <form method="get" action=base_path::current().join("/integrations") class="filters" role="search" aria-label="Filter">
            {kept.into_iter().map(|(name, value)| view! { <input type="hidden" name=name value=value /> }).collect_view()}
            {kept_app.map(|value| view! { <input type="hidden" name="app_id" value=value /> })}
            <TextField name="name" label="Name" kind="search" placeholder="integration or app" value=value("name") grow=true />
            {has_apps.then(|| view! { <SelectField name="app_id" label="App" value=app_id options=choices /> })}
            <SelectField name="type" label="Type" value=query.kind.map(IntegrationType::as_str).unwrap_or_default().to_owned() options=kinds />
            <SelectField name="group" label="Group by" value=query.group.map(Group::as_str).unwrap_or_default().to_owned() options=groups />
            <div class="fit flex gap-2">
                <Button glyph=Glyph::Search>"Filter"</Button>
                <LinkButton href="/integrations">"Clear"</LinkButton>
            </div>
        </form>
    }
    .into_any()
}

/// Columns sort; clicking the sorted one again reverses the order.
fn head(query: &IntegrationQuery, here: &PageUrl, may_select: bool) -> impl IntoView + use<> {
    let column = |order: Order| {
        let (label, title, is_number) = words(order);
        let sorted = (query.order == order).then_some(match (order == Order::Name, query.is_reversed) {
            (true, false) | (false, true) => "ascending",
            (true, true) | (false, false) => "descending",
        });
        let mark = match sorted {
            Some("ascending") => " ↑",
            Some(_) => " ↓",
            None => "",
        };
        let href = query.ordered(here, order).to_string();
        view! {
            <th scope="col" class=if is_number { "n" } else { "" } aria-sort=sorted title=title>
                <Link href=href keep_scroll=true class="hover:text-ink">
                    {label}
                    <span aria-hidden="true">{mark}</span>
                </Link>
            </th>
        }
    };
    view! {
        {may_select
            .then(|| {
                view! {
                    <th scope="col">
                        <span class="sr-only">"Select"</span>
                    </th>
                }
            })}
        {Order::ALL.map(column).into_iter().collect_view()}
    }
}

/// A column's label, tooltip, and whether it has numbers.
const fn words(order: Order) -> (&'static str, &'static str, bool) {
    match order {
        Order::Name => ("Integration", "By name", false),
        Order::State => ("State", "Worst first", false),
        Order::Backlog => ("Backlog", "Pending jobs, now and over the last hour", true),
        Order::Eta => ("Clears in", "Until the backlog is empty. ≥: the rate limit allows no faster", true),
        Order::Accepted => ("In / min", "Jobs accepted during the last minute, estimated", true),
        Order::Delivered => ("Out / min", "Jobs completed during the last minute", true),
        Order::Limit => ("Limit", "Used of the tightest rate limit", false),
        Order::P95 => ("p95", "95 of 100 attempts of the last five minutes took at most as long", true),
        Order::Failing => ("Failing", "Share of attempts of the last minute that failed", true),
        Order::Refused => ("429", "Share of answers in the last five minutes that were 429", true),
        Order::Dead => ("Dead", "Dead letters", true),
        Order::Oldest => ("Oldest", "Age of the oldest job that could run", true),
    }
}
