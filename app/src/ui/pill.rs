//! A state as icon, word and colour.

use super::{Glyph, Icon, Tone};
use leptos::prelude::*;

/// A rounded label.
#[component]
pub fn Pill(
    #[prop(into)] tone: Signal<Tone>,
    #[prop(into)] glyph: Signal<Glyph>,
    #[prop(into)] label: Signal<String>,
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
