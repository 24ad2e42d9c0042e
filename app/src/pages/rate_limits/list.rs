//! One row per limit, darker where more of it was used.

use super::{editor::Editor, numbers::Numbers, row::Row};
use crate::calls::rate_limits::load_rate_limits;
use crate::components::page_table::ConsolePage;
use crate::components::{EmptyList, LiveBadge, Loaded, PageHead};
use crate::format;
use crate::state::page_url::{self, PageUrl};
use crate::state::{base_path, refresh, revision};
use crate::ui::{Button, Glyph, LinkButton, ListCard, PageLinks, Segment, Segmented, Table, TextField};
use leptos::prelude::*;
use model::limit_use::LimitWindow;
use model::rules::permission::Permission;
use model::views::rate_limits::{LimitList, PAGE_ROWS};
use std::time::Duration;

#[component]
pub fn RateLimitsPage() -> impl IntoView {
    let url = page_url::current();
    let page = revision::page_data(move || url.get().query(), load_rate_limits);
    view! {
        <Loaded
            title=ConsolePage::RateLimits.title()
            data=page
            show=move |list, reader| {
                let may_edit = reader.is_some_and(|r| r.may(Permission::Configure));
                view! { <Content first=list url=url.get_untracked() may_edit=may_edit /> }.into_any()
            }
        />
    }
    .into_any()
}

#[component]
fn Content(first: LimitList, url: PageUrl, may_edit: bool) -> impl IntoView {
    let (as_of, window, page_number) = (first.as_of, first.window, first.page);
    let (matched, total) = (first.matched, first.total);
    let query = url.query();
    let newer = refresh::every(Duration::from_secs(5), move || load_rate_limits(query.clone()));
    let edited = first.edited.clone().filter(|_| may_edit);
    let rows = first.rows.clone();
    let list = Memo::new(move |_| newer.get().unwrap_or_else(|| first.clone()));
    let here = url.clone().settled();
    let is_filtered = url.get("name").is_some();
    let as_numbers = url.get("as") == Some("numbers");
    let windows: Vec<_> = LimitWindow::ALL
        .iter()
        .copied()
        .map(|choice| Segment {
            href: here.clone().with("window", choice.as_str()).to_string(),
            label: match choice {
                LimitWindow::Hour => "1 h by the minute".to_owned(),
                LimitWindow::Day => "24 h by 15 min".to_owned(),
            },
            count: None,
            is_current: choice == window,
        })
        .collect();
    let forms: Vec<_> = [("shades", "Heat map"), ("numbers", "Numbers")]
        .into_iter()
        .map(|(value, label)| Segment {
            href: here.clone().with("as", value).to_string(),
            label: label.to_owned(),
            count: None,
            is_current: (value == "numbers") == as_numbers,
        })
        .collect();
    let busy = Signal::derive(move || {
        list.with(|list| list.rows.iter().filter(|row| row.backlog > 0).count() as i64)
    });
    let headline = Signal::derive(move || {
        let limits = format::counted(total, "limit", "limits");
        match busy.get() {
            0 => format!("**{limits}**, none of those shown with a backlog"),
            n => format!("**{limits}**, **{}** of those shown with a backlog", format::count(n)),
        }
    });
    let name = url.get("name").unwrap_or_default().to_owned();
    let shown = rows.len();
    let has_more = (((page_number - 1) * PAGE_ROWS + shown) as i64) < matched;
    let in_words =
        format!("{} of {} shown", format::count(shown as i64), format::counted(matched, "limit", "limits"));
    let pages = PageLinks::numbered(&here, page_number, has_more, in_words).always_shown();
    let window_start = match window {
        LimitWindow::Hour => "an hour ago",
        LimitWindow::Day => "a day ago",
    };
    let back = StoredValue::new(url.clone().settled().without("edit").without(crate::state::what_if::PARAM));
    let head = move || {
        view! {
            <th scope="col">"Integration"</th>
            <th scope="col" class="grow">
                <span class="flex justify-between gap-2 min-w-[220px]">
                    <span>{window_start}</span>
                    <span>"now"</span>
                </span>
            </th>
            <th scope="col">"Used now"</th>
            <th scope="col" class="n">"Backlog"</th>
            <th scope="col" class="n">"Clears in"</th>
            {may_edit.then(|| view! { <th scope="col"><span class="sr-only">"Actions"</span></th> })}
        }
    };
    view! {
        <PageHead title=ConsolePage::RateLimits.title() headline=headline>
            <LiveBadge as_of=as_of />
            <Segmented label="Time window" segments=windows />
            <Segmented label="Display" segments=forms />
        </PageHead>
        <div class="stack">
            {edited.map(|integration| view! { <Editor integration=integration list=list url=url.clone() back=back.get_value() /> })}
            <ListCard
                title="Limit use"
                sub="largest backlog first"
                aside=legend
                toolbar=move || view! { <Filter window=window name=name /> }
                is_empty=shown == 0
                empty=move || {
                    view! {
                        <EmptyList
                            clear=is_filtered.then(|| "/rate-limits".to_owned())
                            no_match=("No limits match this name", "Clear the filter to see all limits.")
                            glyph=Glyph::Gauge
                            nothing=("No rate limits", "Integrations send as fast as their concurrency allows. Set a limit on an integration's page, or with PATCH /api/v1/integrations/{id}.")
                        />
                    }
                }
                pages=pages
            >
                {if as_numbers {
                    view! { <Numbers list=list /> }.into_any()
                } else {
                    view! {
                        <Table label="Rate limits" stacks=true head=head>
                            {rows
                                .into_iter()
                                .map(|first| {
                                    let key = first.key.clone();
                                    let row = refresh::row(first, move || {
                                        list.with(|list| list.rows.iter().find(|row| row.key == key).cloned())
                                    });
                                    view! { <Row row=row may_edit=may_edit as_of=as_of back=back.get_value() /> }
                                })
                                .collect_view()}
                        </Table>
                    }
                        .into_any()
                }}
            </ListCard>
        </div>
    }
    .into_any()
}

#[component]
fn Filter(window: LimitWindow, name: String) -> impl IntoView {
    view! {
        <form method="get" action=base_path::current().join("/rate-limits") class="filters" role="search" aria-label="Filter">
            <input type="hidden" name="window" value=window.as_str() />
            <TextField name="name" label="Name" kind="search" placeholder="integration, app or shared key" value=name grow=true />
            <div class="fit flex gap-2">
                <Button glyph=Glyph::Search>"Filter"</Button>
                <LinkButton href="/rate-limits">"Clear"</LinkButton>
            </div>
        </form>
    }
    .into_any()
}

fn legend() -> impl IntoView {
    view! {
        <span class="legend ml-auto tone-limited">
            <span>
                <i></i>
                "darker: more used"
            </span>
            <span class="tone-failed">
                <i></i>
                "hatched: 429 below the limit"
            </span>
            <span>"black: edited"</span>
        </span>
    }
}
