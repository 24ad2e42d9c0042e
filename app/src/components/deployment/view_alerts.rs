//! Saved views whose threshold is reached, in the list of what needs attention.

use crate::state::clock;
use crate::ui::{Ago, Glyph, Link, LinkButton, Pill, Tone};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::saved_view::{SavedView, reason};

/// The icon, word and colour of a view at its threshold or above.
#[component]
pub fn AlertPill() -> impl IntoView {
    view! {
        <Pill
            tone=Signal::stored(Tone::Failed)
            glyph=Signal::stored(Glyph::Alert)
            label=Signal::stored("Alert".to_owned())
        />
    }
    .into_any()
}

/// A line each, with a link to the view's jobs; nothing while none alerts.
#[component]
pub fn ViewAlerts(
    #[prop(into)] views: Signal<Vec<SavedView>>,
    /// The moment of the first render.
    as_of: DateTime<Utc>,
) -> impl IntoView {
    let now = clock::now_or(as_of);
    let line = move |view: SavedView| {
        let href = format!("/jobs?{}", view.query);
        let why = view.count.zip(view.alert_at).map(|(count, at)| reason(count.at_least(), at));
        let whose = if view.is_shared { "saved view" } else { "your saved view" };
        let says = format!("See jobs of {}", view.name);
        view! {
            <div class="att">
                <div class="who">
                    <Link href=href.clone() class="hover:underline">
                        {view.name.clone()}
                    </Link>
                    <span class="type-label font-normal text-faint">{whose}</span>
                    <AlertPill />
                </div>
                <p class="why">
                    {why.map(|why| format!("{why}. "))}
                    {view.alerting_since.map(|since| view! { "Reached " <Ago at=since now=now /> "." })}
                </p>
                <div class="act">
                    <LinkButton href=href says=says>
                        "See jobs"
                    </LinkButton>
                </div>
            </div>
        }
    };
    move || views.get().into_iter().map(line).collect_view()
}
