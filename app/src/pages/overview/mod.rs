//! Is anything wrong, where, and until when? Now, or as it was at a minute of the last day.

mod busiest;
mod deltas;
mod headline;
mod live_data;
mod no_data;
mod oldest;
mod sparks;
mod tiles;
mod time_travel;
mod wall;

pub use wall::WallPage;

use self::busiest::Busiest;
use self::headline::headline;
use self::live_data::LiveData;
use self::no_data::{NotRecorded, Unreadable};
use self::oldest::Oldest;
use self::tiles::Tiles;
use self::time_travel::TimeTravel;
use crate::calls::error::CallError;
use crate::calls::stats::load_overview;
use crate::components::page_table::ConsolePage;
use crate::components::{
    ActivityFeed, Attention, LevelsChart, LiveBadge, Loaded, PageHead, RetryPyramid, ThroughputChart,
    ViewAlerts, WorkerTrouble, marks, window_segments,
};
use crate::format;
use crate::state::page_url::{self, PageUrl};
use crate::state::revision;
use crate::ui::{Card, ChartCursor, Glyph, LinkButton, Segmented};
use leptos::prelude::*;
use model::rules::permission::Permission;
use model::stats::Window;
use model::views::overview::{Overview, OverviewAnswer};

#[component]
pub fn OverviewPage() -> impl IntoView {
    let url = page_url::current();
    let asked = Memo::new(move |_| {
        url.with(|url| {
            let window = url.get("window").and_then(|w| w.parse::<Window>().ok()).unwrap_or_default();
            (window, url.get("at").map(str::to_owned))
        })
    });
    let first = revision::page_data(
        move || asked.get(),
        |(window, at)| async move {
            match at.as_deref().map(|text| format::parse_moment(text).ok_or(text)) {
                Some(Err(text)) => Ok::<_, CallError>(OverviewAnswer::Unreadable(text.to_owned())),
                Some(Ok(at)) => load_overview(window, Some(at)).await,
                None => load_overview(window, None).await,
            }
        },
    );
    view! {
        <Loaded
            title=ConsolePage::Overview.title()
            data=first
            show=move |first, reader| {
                let (window, here) = (asked.get_untracked().0, url.get_untracked());
                match first {
                    OverviewAnswer::Shown(first) => {
                        let may_configure = reader.is_some_and(|r| r.may(Permission::Configure));
                        view! { <Content first=*first window=window here=here may_configure=may_configure /> }.into_any()
                    }
                    OverviewAnswer::NotRecorded { at, nearest, now } => {
                        view! { <NotRecorded at=at nearest=nearest now=now here=here /> }.into_any()
                    }
                    OverviewAnswer::Unreadable(text) => view! { <Unreadable text=text here=here /> }.into_any(),
                }
            }
        />
    }
    .into_any()
}

#[component]
fn Content(first: Overview, window: Window, here: PageUrl, may_configure: bool) -> impl IntoView {
    ChartCursor::provide();
    let Overview { snapshot, left_out, past, charts, at, now } = first;
    let (as_of, is_past) = (snapshot.at, at.is_some());
    let yesterdays_pyramid = past.yesterdays_pyramid.clone().unwrap_or_default();
    let live_data = LiveData::new((snapshot, left_out), charts, window, is_past);
    let (snapshot, left_out) = (live_data.snapshot, live_data.left_out);
    let activity = live_data.of(|c| c.activity.clone());
    let alerts = live_data.of(|c| c.alerts.clone());
    let happened = Signal::derive(move || activity.with(|all| marks(all)));
    let segments = window_segments(&here, window);
    let count = Signal::derive(move || snapshot.with(|s| s.workers));
    let workers = live_data.of(|c| c.workers.clone());
    let more = |href: &str, words: &str| (!is_past).then(|| (href.to_owned(), words.to_owned()));
    view! {
        <PageHead title=ConsolePage::Overview.title() headline=Signal::derive(move || snapshot.with(|s| headline(s, left_out.get(), is_past)))>
            {(!is_past)
                .then(|| {
                    view! {
                        <LiveBadge as_of=as_of />
                        <LinkButton href="/wall" glyph=Glyph::Monitor>
                            "Wallboard"
                        </LinkButton>
                    }
                })}
            <Segmented label="Time window" segments=segments />
        </PageHead>
        <div class="stack">
            <TimeTravel at=at now=now here=here />
            <Tiles snapshot=snapshot workers=workers past=past is_past=is_past />
            <div class="two">
                <Card title="Needs attention" sub="worst first" more=more("/integrations", "All integrations")>
                    <WorkerTrouble workers=workers count=count />
                    <ViewAlerts views=alerts as_of=as_of />
                    <Attention
                        snapshot=snapshot
                        may_configure=may_configure
                        max_rows=6
                        other_cards_warn=Signal::derive(move || alerts.with(|all| !all.is_empty()))
                        read_only=is_past
                    />
                </Card>
                <Card
                    title="Retry pyramid"
                    sub=if yesterdays_pyramid.is_empty() { "waiting jobs by attempts made" } else { "waiting jobs by attempts made; dashed: a day before" }
                >
                    <RetryPyramid
                        steps=Signal::derive(move || snapshot.with(|s| s.retry_pyramid.clone()))
                        dead=Signal::derive(move || snapshot.with(|s| s.totals.dead_letters))
                        ghost=Signal::stored(yesterdays_pyramid)
                        is_past=is_past
                    />
                </Card>
            </div>
            <ThroughputChart throughput=live_data.of(|c| c.throughput.clone()) marks=happened is_past=is_past />
            <LevelsChart levels=live_data.of(|c| c.levels.clone()) marks=happened is_past=is_past />
            <div class="two">
                <Card title="Recent activity" sub="newest first">
                    <ActivityFeed activity=activity max_rows=12 as_of=as_of is_past=is_past />
                </Card>
                <Oldest snapshot=snapshot is_past=is_past />
            </div>
            <Busiest snapshot=snapshot left_out=left_out is_past=is_past />
        </div>
    }
    .into_any()
}
