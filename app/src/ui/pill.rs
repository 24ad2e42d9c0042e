//! A state in one glance: icon, word, colour.

use super::{Glyph, Icon, Tone};
use leptos::prelude::*;

/// A rounded label.
#[component]
pub fn Pill(
    /// Colour family.
    #[prop(into)]
    tone: Signal<Tone>,
    /// The icon before the word.
    #[prop(into)]
    glyph: Signal<Glyph>,
    /// The word.
    #[prop(into)]
    label: Signal<String>,
) -> impl IntoView {
    let class = move || {
        format!(
            "inline-flex items-center gap-[5px] rounded-full py-0.5 pl-[7px] pr-2 type-label font-[550] \
             whitespace-nowrap text-tone bg-tone-soft {}",
            tone.get().class()
        )
    };
    view! {
        <span class=class>
            <Icon glyph=glyph size="w-[11px] h-[11px]" />
            {move || label.get()}
        </span>
    }
    .into_any()
}
