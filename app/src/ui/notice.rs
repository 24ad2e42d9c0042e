//! The outcome of a form in one sentence, until it is dismissed.

use super::{Glyph, Icon, Link, Tone};
use leptos::prelude::*;

/// A line above the page's content.
#[component]
pub fn Notice(
    /// Green for done, red for refused.
    tone: Tone,
    glyph: Glyph,
    #[prop(into)] text: String,
    /// The address of the page without the notice.
    #[prop(optional, into)]
    dismiss: Option<String>,
    /// Address and text of a link to the details.
    #[prop(optional_no_strip)]
    more: Option<(String, &'static str)>,
) -> impl IntoView {
    view! {
        <div
            class=format!(
                "flex items-center gap-2.5 mb-3 px-3.5 py-2 corner-m bg-tone-soft text-tone font-medium {}",
                tone.class(),
            )
        >
            <Icon glyph=glyph />
            <span class="min-w-0" role=if tone == Tone::Failed { "alert" } else { "status" }>
                {text}
            </span>
            {more
                .map(|(href, words)| {
                    view! {
                        <Link href=href class="underline whitespace-nowrap">
                            {words}
                        </Link>
                    }
                })}
            {dismiss
                .map(|href| {
                    view! {
                        <Link
                            href=href
                            keep_scroll=true
                            class="ml-auto grid place-items-center w-6 h-6"
                            says="Dismiss"
                        >
                            <Icon glyph=Glyph::Cross />
                        </Link>
                    }
                })}
        </div>
    }
    .into_any()
}
