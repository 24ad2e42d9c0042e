//! An empty list: either nothing matches its filters, which can be cleared, or there is nothing.

use crate::ui::{EmptyState, Glyph, LinkButton, Tone};
use leptos::prelude::*;

/// Title and text.
pub type Words = (&'static str, &'static str);

#[component]
pub fn EmptyList(
    /// Where its filters are cleared; `None`: it is not filtered.
    clear: Option<String>,
    /// When filters hide what there may be.
    no_match: Words,
    /// When there is nothing.
    nothing: Words,
    glyph: Glyph,
    #[prop(optional)] tone: Tone,
) -> impl IntoView {
    match clear {
        Some(clear) => view! {
            <EmptyState glyph=Glyph::Search tone=Tone::Waiting title=no_match.0 text=no_match.1>
                <LinkButton href=clear>"Clear"</LinkButton>
            </EmptyState>
        }
        .into_any(),
        None => view! { <EmptyState glyph=glyph tone=tone title=nothing.0 text=nothing.1 /> }.into_any(),
    }
}
