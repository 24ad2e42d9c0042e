//! What happened: as a list, and as marks of charts.

use crate::{
    state::clock,
    ui::{Ago, ChartMark, Glyph, Icon, Link, Tone},
};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::activity::{Activity, ActivityKind};

/// Newest first.
#[component]
pub fn ActivityFeed(
    /// What happened.
    #[prop(into)]
    activity: Signal<Vec<Activity>>,
    /// How many at most.
    most: usize,
    /// The moment of the first render; of a moment that is over, that moment.
    as_of: DateTime<Utc>,
    /// Time stands still.
    #[prop(optional)]
    is_past: bool,
) -> impl IntoView {
    let now = if is_past { Signal::stored(as_of) } else { clock::now_or(as_of) };
    let shown = Memo::new(move |_| activity.with(|all| all.iter().take(most).cloned().collect::<Vec<_>>()));
    view! {
        <ol class="feed">
            <For
                each=move || shown.get()
                key=|one| one.id
                children=move |one| {
                    let (glyph, tone) = look(&one);
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
                .then(|| view! { <p class="px-4 pb-4 text-muted">"Nothing happened yet: no breaker flipped, nobody changed anything."</p> })
        }}
    }
    .into_any()
}

/// As marks of charts: not the steps in which a breaker finds its way back, which would hide the rest.
pub fn marks(activity: &[Activity]) -> Vec<ChartMark> {
    let is_mark = |one: &&Activity| !matches!(one.action.as_str(), "breaker.half_open" | "breaker.ramping");
    activity
        .iter()
        .filter(is_mark)
        .map(|one| ChartMark { at: one.at, label: one.message.clone(), tone: look(one).1 })
        .collect()
}

/// The one table of what happened: icon and colour.
fn look(activity: &Activity) -> (Glyph, Tone) {
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
