//! A page that is not there, or not for its reader: what it is, why, and the one link that helps.

use super::Mark;
use crate::ui::{ButtonKind, EmptyState, Glyph, LinkButton, Tone};
use leptos::prelude::*;

/// A card of its own, without navigation: it also stands where nobody is signed in.
#[component]
pub fn Refusal(
    /// HTTP's number for it, as people search for it.
    code: u16,
    /// What is drawn.
    glyph: Glyph,
    /// What it is.
    #[prop(into)]
    title: String,
    /// Why.
    #[prop(into)]
    text: String,
    /// Where the link leads.
    #[prop(into)]
    href: String,
    /// Its words.
    #[prop(into)]
    go: String,
) -> impl IntoView {
    view! {
        <main class="gateway" id="content">
            <div class="w-full max-w-[440px]">
                <div class="brand justify-center">
                    <Mark />
                    "Headgate"
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
