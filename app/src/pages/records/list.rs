//! A search for ids and names: every job about what was found, across integrations, on one timeline.

use super::app_card::AppCard;
use super::record_card::RecordCard;
use super::search::{NothingAsked, Readings, SearchBox, meaning};
use super::timeline::Timeline;
use crate::calls::trail::load_trail;
use crate::components::page_table::ConsolePage;
use crate::components::{LiveBadge, Loaded, PageHead};
use crate::format;
use crate::state::page_url::{self, PageUrl};
use crate::state::{refresh, revision};
use crate::ui::{Card, EmptyState, Glyph, PageLinks, Pagination, Tone};
use leptos::prelude::*;
use model::{trail::Trail, views::trail::TrailPage};
use std::{collections::BTreeMap, time::Duration};

#[component]
pub fn RecordsPage() -> impl IntoView {
    let url = page_url::current();
    let page = revision::page_data(move || url.get().settled().query(), load_trail);
    view! {
        <Loaded
            title=ConsolePage::Records.title()
            data=page
            show=move |page, _| view! { <Content page=page url=url.get_untracked().settled() /> }.into_any()
        />
    }
    .into_any()
}

#[component]
fn Content(page: TrailPage, url: PageUrl) -> impl IntoView {
    let as_of = page.as_of;
    let text = url.get("q").unwrap_or_default().trim().to_owned();
    let headline = match &page.trail {
        Some(trail) => meaning(&text, trail),
        None => "All jobs of a record or id, across integrations, on one timeline.".to_owned(),
    };
    let trail = page.trail.clone();
    let is_asked = trail.is_some();
    let asked_at = url.clone();
    let readings = trail.as_ref().map(|trail| trail.readings.clone()).unwrap_or_default();
    view! {
        <PageHead title=ConsolePage::Records.title() headline=headline>
            <LiveBadge as_of=as_of />
        </PageHead>
        <div class="stack">
            <Card title="Find">
                <SearchBox url=url.clone() />
                <Readings url=url.clone() readings=readings />
                {(!is_asked).then(|| view! { <NothingAsked /> })}
            </Card>
            {trail.map(|trail| view! { <Found trail=trail page=page.clone() url=asked_at text=text /> })}
        </div>
    }
    .into_any()
}

#[component]
fn Found(trail: Trail, page: TrailPage, url: PageUrl, text: String) -> impl IntoView {
    let TrailPage { names, as_of, .. } = page;
    let query = url.query();
    let newer = refresh::every(Duration::from_secs(3), move || load_trail(query.clone()));
    let fresh = Memo::new(move |_| {
        newer.with(|page| {
            let items = page.as_ref().and_then(|page| page.trail.as_ref()).map(|trail| trail.items.clone());
            items.unwrap_or_default().into_iter().map(|item| (item.job.id, item)).collect::<BTreeMap<_, _>>()
        })
    });
    let Trail { readings, records, more_records, apps, items, next_cursor } = trail;
    if readings.is_empty() && items.is_empty() {
        return view! {
            <Card title="Timeline">
                <EmptyState
                    glyph=Glyph::Search
                    tone=Tone::Waiting
                    title="No match"
                    text="Ids must match exactly, including case. Finished jobs are deleted when their retention ends; their record stays."
                />
            </Card>
        }
            .into_any();
    }
    let are_several = records.len() > 1;
    let first = RwSignal::new(records);
    // Records are live too: one that was behind may be in sync a moment later.
    let records = Memo::new(move |_| {
        newer
            .with(|page| {
                page.as_ref().and_then(|page| page.trail.as_ref()).map(|trail| trail.records.clone())
            })
            .unwrap_or_else(|| first.get())
    });
    let shown = format::counted(items.len() as i64, "job shown", "jobs shown");
    let pages = PageLinks::by_cursor(&url, next_cursor.as_deref(), shown);
    let has_jobs = !items.is_empty() || url.get("cursor").is_some();
    view! {
        {apps.into_iter().map(|app| view! { <AppCard app=app names=names.clone() as_of=as_of /> }).collect_view()}
        {move || {
            records
                .get()
                .into_iter()
                .map(|record| {
                    let others = are_several.then(|| url.clone());
                    view! { <RecordCard record=record others=others as_of=as_of /> }
                })
                .collect_view()
        }}
        {more_records
            .then(|| {
                view! {
                    <p class="px-4 text-muted">
                        "More records have this id. Put the type first, as in product 4711, or choose one of these."
                    </p>
                }
            })}
        {has_jobs
            .then(|| {
                view! {
                    <Card title="Timeline" sub="newest first, all integrations">
                        <Timeline items=items fresh=fresh names=names.clone() asked=text as_of=as_of />
                        <Pagination pages=pages />
                    </Card>
                }
            })}
    }
    .into_any()
}
