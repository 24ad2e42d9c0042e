//! The overview's list of what needs attention: verdict in words, use of the limit, the remedy next to it.

mod actions;
mod row;

use self::row::Row;
use crate::components::{GrowingFailures, HealthText, Warnings, row_of};
use crate::state::base_path;
use crate::ui::{EmptyState, Glyph, Tone};
use leptos::prelude::*;
use model::stats::Snapshot;

/// Worst first. When all is healthy, that is said in a sentence.
#[component]
pub fn Attention(
    #[prop(into)] snapshot: Signal<Snapshot>,
    may_configure: bool,
    /// At most so many rows.
    max_rows: usize,
    /// Another card needs attention: "Nothing needs attention" is not said.
    #[prop(optional, into)]
    other_cards_warn: Signal<bool>,
    /// Without buttons: on a page about the past, or on the wallboard.
    #[prop(optional)]
    read_only: bool,
) -> impl IntoView {
    let rows = Memo::new(move |_| {
        snapshot.with(|s| {
            let mut rows: Vec<_> = s
                .integrations
                .iter()
                .map(|gauge| (HealthText::of(gauge, s.at), gauge.clone()))
                .filter(|(text, _)| text.health.needs_attention())
                .collect();
            rows.sort_by(HealthText::worst_first);
            rows.truncate(max_rows);
            rows
        })
    });
    let has_others =
        Memo::new(move |_| snapshot.with(|s| !s.warnings.is_empty() || !s.failures.growing.is_empty()));
    view! {
        <Warnings snapshot=snapshot />
        <GrowingFailures snapshot=snapshot read_only=read_only />
        <For
            each=move || rows.get()
            key=|(_, gauge)| gauge.integration_id
            children=move |first| {
                view! { <Row row=row_of(rows, first) may_configure=may_configure read_only=read_only /> }
            }
        />
        {move || {
            (rows.with(Vec::is_empty) && !has_others.get() && !other_cards_warn.get())
                .then(|| {
                    let has_integrations = snapshot.with(|s| !s.integrations.is_empty());
                    view! { <NothingNeedsYou has_integrations=has_integrations /> }
                })
        }}
    }
    .into_any()
}

/// All is healthy, or there is nothing yet.
#[component]
fn NothingNeedsYou(has_integrations: bool) -> impl IntoView {
    if has_integrations {
        view! {
            <EmptyState
                glyph=Glyph::Check
                tone=Tone::Delivered
                title="Nothing needs attention"
                text="Every integration is in sync or catching up by itself."
            />
        }
        .into_any()
    } else {
        view! {
            <EmptyState
                glyph=Glyph::Plug
                title="No integrations yet"
                text="Create an app and an integration with the API; the first record change shows here within a second."
            >
                <a class="link" href=base_path::current().join("/api/docs") rel="external">
                    "API documentation"
                </a>
            </EmptyState>
        }
            .into_any()
    }
}
