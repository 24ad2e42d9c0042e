//! Is anything wrong, where, and until when?

mod busiest;
mod tiles;

use self::{busiest::Busiest, tiles::Tiles};
use crate::{
    calls::stats::{Overview, load_overview, load_throughput},
    components::{Attention, Health, LiveBadge, Loaded, PageHead, RetryPyramid, ThroughputChart},
    format,
    state::{live, page_url, refresh, revision},
    ui::{Card, Segment, Segmented},
};
use leptos::prelude::*;
use model::{
    rules::permission::Permission,
    stats::{Snapshot, Window},
};
use std::time::Duration;

/// The start page.
#[component]
pub fn OverviewPage() -> impl IntoView {
    let url = page_url::current();
    let window = Memo::new(move |_| {
        url.with(|url| url.get("window").and_then(|w| w.parse::<Window>().ok()).unwrap_or_default())
    });
    let revision = revision::current();
    let first =
        Resource::new_blocking(move || (window.get(), revision.get()), |(window, _)| load_overview(window));
    view! {
        <Loaded
            title="Overview"
            data=first
            show=move |first, reader| {
                let may_configure = reader.is_some_and(|r| r.may(Permission::Configure));
                view! { <Content first=first window=window.get_untracked() may_configure=may_configure /> }.into_any()
            }
        />
    }
    .into_any()
}

#[component]
fn Content(first: Overview, window: Window, may_configure: bool) -> impl IntoView {
    let as_of = first.snapshot.at;
    let snapshot = live::current().or(first.snapshot);
    let newer = refresh::every(Duration::from_secs(10), move || load_throughput(window, None));
    let chart = Signal::derive(move || newer.get().unwrap_or_else(|| first.throughput.clone()));
    let segments: Vec<_> = Window::ALL
        .into_iter()
        .map(|choice| Segment {
            href: format!("/?window={}", choice.as_str()),
            label: window_label(choice).to_owned(),
            count: None,
            is_current: choice == window,
        })
        .collect();
    view! {
        <PageHead title="Overview" lede=Signal::derive(move || snapshot.with(lede))>
            <LiveBadge as_of=as_of />
            <Segmented label="Time window" segments=segments />
        </PageHead>
        <div class="stack">
            <Tiles snapshot=snapshot history=first.history />
            <div class="two">
                <Card
                    title="Needs attention"
                    sub="worst first"
                    more=("/integrations".to_owned(), "All integrations".to_owned())
                >
                    <Attention snapshot=snapshot may_configure=may_configure most=6 />
                </Card>
                <Card title="Retry pyramid" sub="waiting, by attempts made">
                    <RetryPyramid
                        steps=Signal::derive(move || snapshot.with(|s| s.retry_pyramid.clone()))
                        dead=Signal::derive(move || snapshot.with(|s| s.totals.dead_letters))
                    />
                </Card>
            </div>
            <ThroughputChart throughput=chart window=window />
            <Busiest snapshot=snapshot />
        </div>
    }
    .into_any()
}

const fn window_label(window: Window) -> &'static str {
    match window {
        Window::Hour => "1 h",
        Window::Day => "24 h",
        Window::Week => "7 d",
    }
}

/// The page's answer in one sentence.
fn lede(snapshot: &Snapshot) -> String {
    let all = snapshot.integrations.len();
    let wrong = snapshot.integrations.iter().filter(|g| Health::of(g, snapshot.at).needs_attention()).count();
    let mut parts = vec![match (all, wrong) {
        (0, _) => "Nothing is connected yet".to_owned(),
        (_, 0) => format!("All **{all} integrations** are in sync or catching up by themselves"),
        (_, 1) => format!("**1 of {all} integrations** needs attention"),
        _ => format!("**{wrong} of {all} integrations** need attention"),
    }];
    if snapshot.workers == 0 {
        parts.push("**no worker is running**: jobs wait until one starts".to_owned());
    } else if let Some(eta) = eta(snapshot) {
        parts.push(format!("at this rate all waiting work is done in **{}**", format::eta(eta)));
    }
    parts.join(" · ")
}

/// The longest estimate of all that can be estimated; none when nothing waits.
fn eta(snapshot: &Snapshot) -> Option<i64> {
    snapshot.integrations.iter().filter(|g| g.backlog > 0).filter_map(|g| g.eta_seconds).max()
}
