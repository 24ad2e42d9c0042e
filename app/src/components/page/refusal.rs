//! A page that does not exist, or is not allowed: what it is, why, and the one link that helps.

use crate::components::Brand;
use crate::ui::{ButtonKind, EmptyState, Glyph, LinkButton, Tone};
use leptos::prelude::*;

/// A card without navigation: it is also shown when nobody is signed in.
#[component]
pub fn Refusal(
    /// The HTTP status, which is what people search for.
    code: u16,
    glyph: Glyph,
    #[prop(into)] title: String,
    #[prop(into)] text: String,
    #[prop(into)] href: String,
    /// The link's text.
    #[prop(into)]
    go: String,
) -> impl IntoView {
    view! {
        <main class="gateway" id="content">
            <div class="w-full max-w-[440px]">
                <div class="brand justify-center">
                    <Brand />
                </div>
                <section class="card" aria-labelledby="refusal-title">
                    <EmptyState glyph=glyph tone=Tone::Waiting title=title text=text heading_id="refusal-title">
                        <LinkButton href=href kind=ButtonKind::Primary>
                            {go}
                        </LinkButton>
                    </EmptyState>
                </section>
                <p class="mt-3 text-center type-label text-faint tabular-nums">{code}</p>
            </div>
        </main>
    }
    .into_any()
}
