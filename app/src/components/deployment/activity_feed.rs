//! Recent activity, as a list and as marks on charts.

use crate::state::clock;
use crate::ui::{Ago, ChartMark, Glyph, Icon, Link, Tone};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::activity::{Activity, ActivityKind};

#[component]
pub fn ActivityFeed(
    #[prop(into)] activity: Signal<Vec<Activity>>,
    /// At most so many rows.
    max_rows: usize,
    /// The moment of the first render; on a page about the past, that moment.
    as_of: DateTime<Utc>,
    /// The page is about the past: ages are counted to `as_of`, and nothing links to what is there now.
    #[prop(optional)]
    is_past: bool,
) -> impl IntoView {
    let now = if is_past { Signal::stored(as_of) } else { clock::now_or(as_of) };
    let shown =
        Memo::new(move |_| activity.with(|all| all.iter().take(max_rows).cloned().collect::<Vec<_>>()));
    view! {
        <ol class="feed">
            <For
                each=move || shown.get()
                key=|one| one.id
                children=move |one| {
                    let (glyph, tone) = style(&one);
                    let words = match one.integration_id.filter(|_| !is_past) {
                        Some(id) => {
                            view! {
                                <Link href=format!("/integrations/{id}") class="hover:underline">
                                    {one.message.clone()}
                                </Link>
                            }
                                .into_any()
                        }
                        None => view! { <span>{one.message.clone()}</span> }.into_any(),
                    };
                    view! {
                        <li class=tone.class()>
                            <span class="mark">
                                <Icon glyph=glyph size="w-3 h-3" />
                            </span>
                            <span class="what">
                                {words}
                                {one.reason.clone().map(|reason| view! { <span class="why">{reason}</span> })}
                            </span>
                            <span class="when">
                                <Ago at=one.at now=now />
                            </span>
                        </li>
                    }
                }
            />
        </ol>
        {move || {
            shown
                .with(Vec::is_empty)
                .then(|| view! { <p class="px-4 pb-4 text-muted">"No activity yet."</p> })
        }}
    }
    .into_any()
}

/// Marks for charts, without the steps in which a breaker recovers: they would hide the rest.
pub fn marks(activity: &[Activity]) -> Vec<ChartMark> {
    let is_mark = |one: &&Activity| !matches!(one.action.as_str(), "breaker.half_open" | "breaker.ramping");
    activity
        .iter()
        .filter(is_mark)
        .map(|one| ChartMark { at: one.at, label: one.message.clone(), tone: style(one).1 })
        .collect()
}

fn style(activity: &Activity) -> (Glyph, Tone) {
    match (activity.kind, activity.action.as_str()) {
        (ActivityKind::Breaker, "breaker.open") => (Glyph::Switch, Tone::Failed),
        (ActivityKind::Breaker, "breaker.closed") => (Glyph::Switch, Tone::Delivered),
        (ActivityKind::Breaker, _) => (Glyph::Switch, Tone::Retrying),
        (ActivityKind::Pause, _) | (_, "integration.pause") => (Glyph::Pause, Tone::Paused),
        (ActivityKind::Deploy, _) => (Glyph::Box, Tone::Processing),
        (ActivityKind::Alert, "view.alert") => (Glyph::Alert, Tone::Failed),
        (ActivityKind::Alert, _) => (Glyph::Check, Tone::Delivered),
        (ActivityKind::Start, _) => (Glyph::Play, Tone::Processing),
        (ActivityKind::Action, "integration.resume") => (Glyph::Play, Tone::Delivered),
        (ActivityKind::Action, action) if action.ends_with("purge") || action.ends_with("delete") => {
            (Glyph::Trash, Tone::Failed)
        }
        (ActivityKind::Action, action) if action.starts_with("resync") => (Glyph::Sync, Tone::Processing),
        (ActivityKind::Action, _) => (Glyph::Hand, Tone::Waiting),
    }
}
