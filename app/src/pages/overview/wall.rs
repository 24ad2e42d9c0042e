//! The overview for a screen on a wall: no navigation, one screen, readable from afar. It says when it is stale, and why.

use super::{LiveData, headline::headline, tiles::Tiles};
use crate::{
    calls::stats::load_overview,
    components::{
        ActivityFeed, Attention, LevelsChart, LiveBadge, Loaded, PageHead, RetryPyramid, ThemeSwitch,
        ThroughputChart, WorkerTrouble, marks, page_table::ConsolePage,
    },
    format,
    state::{clock, event_stream::Link, live, page_url, revision},
    ui::{Card, ChartCursor, Glyph, LinkButton},
};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::stats::Window;
use model::views::overview::{Overview, OverviewAnswer};

#[component]
pub fn WallPage() -> impl IntoView {
    live::provide();
    clock::provide();
    revision::provide();
    let url = page_url::current();
    let window = Memo::new(move |_| {
        url.with(|url| url.get("window").and_then(|w| w.parse::<Window>().ok()).unwrap_or_default())
    });
    let first = Resource::new_blocking(move || window.get(), |window| load_overview(window, None));
    view! {
        <main class="wall" id="content" tabindex="-1">
            <Loaded
                title=ConsolePage::Wall.title()
                data=first
                show=move |first, _| match first {
                    OverviewAnswer::Shown(first) => view! { <Board first=*first window=window.get_untracked() /> }.into_any(),
                    OverviewAnswer::NotRecorded { .. } | OverviewAnswer::Unreadable(_) => ().into_any(),
                }
            />
        </main>
    }
    .into_any()
}

#[component]
fn Board(first: Overview, window: Window) -> impl IntoView {
    ChartCursor::provide();
    let Overview { snapshot, left_out, past, charts, .. } = first;
    let as_of = snapshot.at;
    let ghost = past.yesterdays_pyramid.clone().unwrap_or_default();
    let live_data = LiveData::new((snapshot, left_out), charts, window, false);
    let (snapshot, left_out) = (live_data.snapshot, live_data.left_out);
    let activity = live_data.of(|c| c.activity.clone());
    let happened = Signal::derive(move || activity.with(|all| marks(all)));
    let count = Signal::derive(move || snapshot.with(|s| s.workers));
    let workers = live_data.of(|c| c.workers.clone());
    let now = clock::now_or(as_of);
    view! {
        <PageHead title=ConsolePage::Wall.title() headline=Signal::derive(move || snapshot.with(|s| headline(s, left_out.get(), false)))>
            <span class="type-section font-semibold tabular-nums">{move || now.get().format("%H:%M UTC").to_string()}</span>
            <LiveBadge as_of=as_of />
            <LinkButton href="/" glyph=Glyph::Grid>
                "Overview"
            </LinkButton>
            <ThemeSwitch />
        </PageHead>
        <Stale as_of=as_of />
        <Tiles snapshot=snapshot workers=workers past=past is_past=false />
        <div class="board">
            <Card title="Needs attention" sub="worst first">
                <WorkerTrouble workers=workers count=count />
                <Attention snapshot=snapshot may_configure=false max_rows=5 read_only=true />
            </Card>
            <div class="stack">
                <ThroughputChart throughput=live_data.of(|c| c.throughput.clone()) marks=happened />
                <LevelsChart levels=live_data.of(|c| c.levels.clone()) marks=happened />
            </div>
            <div class="stack">
                <Card title="Retry pyramid" sub="waiting jobs by attempts made">
                    <RetryPyramid
                        steps=Signal::derive(move || snapshot.with(|s| s.retry_pyramid.clone()))
                        dead=Signal::derive(move || snapshot.with(|s| s.totals.dead_letters))
                        ghost=Signal::stored(ghost)
                        min_rows=6
                    />
                </Card>
                <Card title="Recent activity" sub="newest first">
                    <ActivityFeed activity=activity max_rows=5 as_of=as_of />
                </Card>
            </div>
        </div>
    }
    .into_any()
}

/// A line across the board while the numbers are stale.
#[component]
fn Stale(as_of: DateTime<Utc>) -> impl IntoView {
    let live = live::current();
    let now = clock::now_or(as_of);
    let why = Memo::new(move |_| {
        let at = now.get();
        let (age, is_stale) = live.age(at)?;
        is_stale.then(|| {
            let since = format::clock(at - age, at);
            match live.link().get() {
                Link::Broken { .. } => format!("Numbers from {since} UTC: connection to Headgate lost. Reconnecting."),
                Link::Open | Link::Starting | Link::Hidden => {
                    format!("Numbers from {since} UTC: Headgate sends no newer ones. Its database is not responding, or no process takes samples.")
                }
            }
        })
    });
    view! {
        <div role="status">
            {move || why.get().map(|why| view! { <p class="stale">{why}</p> })}
        </div>
    }
}
