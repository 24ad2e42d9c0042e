//! A list without a row: because nothing fits its filters, which can be cleared, or because there is nothing.

use crate::ui::{EmptyState, Glyph, LinkButton, Tone};
use leptos::prelude::*;

/// A sentence and a remark.
pub type Words = (&'static str, &'static str);

/// The words of one of two states.
#[component]
pub fn EmptyList(
    /// Where its filters are cleared; none: the list is not narrowed.
    clear: Option<String>,
    /// When filters hide what there may be.
    narrowed: Words,
    /// When there is nothing.
    nothing: Words,
    /// What is drawn then.
    glyph: Glyph,
    /// Its colour.
    #[prop(optional)]
    tone: Tone,
) -> impl IntoView {
    match clear {
        Some(clear) => view! {
            <EmptyState glyph=Glyph::Search tone=Tone::Waiting title=narrowed.0 text=narrowed.1>
                <LinkButton href=clear>"Clear"</LinkButton>
            </EmptyState>
        }
        .into_any(),
        None => view! { <EmptyState glyph=glyph tone=tone title=nothing.0 text=nothing.1 /> }.into_any(),
    }
}
