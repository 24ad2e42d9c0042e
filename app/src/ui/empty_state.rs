//! The empty state of a list: why it is empty, and what to do about it.

use super::{Glyph, Icon, Tone};
use leptos::prelude::*;

/// Icon, sentence, remark and optional buttons.
#[component]
pub fn EmptyState(
    glyph: Glyph,
    #[prop(optional)] tone: Tone,
    #[prop(into)] title: String,
    #[prop(optional, into)] text: String,
    /// Makes the sentence the page's heading, with this element id.
    #[prop(optional)]
    heading_id: Option<&'static str>,
    /// Buttons or links.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    view! {
        <div class=format!("grid justify-items-center gap-1 px-4 py-10 text-center {}", tone.class())>
            <span class="grid place-items-center w-9 h-9 mb-1.5 rounded-full bg-tone-soft text-tone">
                <Icon glyph=glyph size="w-[18px] h-[18px]" />
            </span>
            {match heading_id {
                Some(id) => {
                    view! {
                        <h1 id=id class="type-section font-[650]">
                            {title}
                        </h1>
                    }
                        .into_any()
                }
                None => view! { <p class="type-strong font-semibold">{title}</p> }.into_any(),
            }}
            <p class="text-muted max-w-[52ch]">{text}</p>
            {children.map(|children| view! { <div class="flex flex-wrap gap-2 justify-center mt-3">{children()}</div> })}
        </div>
    }
    .into_any()
}
