//! An address of no page.

use crate::{
    calls::error::CallError,
    components::PageHead,
    ui::{EmptyState, Glyph, LinkButton},
};
use leptos::prelude::*;

/// 404.
#[component]
pub fn NotFoundPage() -> impl IntoView {
    CallError::NotFound.set_response_status();
    view! {
        <main class="main" id="content">
            <PageHead title="Not found" />
            <section class="card" aria-label="Not found">
                <EmptyState glyph=Glyph::Search title="No page has this address" text="It may have been mistyped, or belong to another version.">
                    <LinkButton href="/">"Overview"</LinkButton>
                </EmptyState>
            </section>
        </main>
    }
    .into_any()
}
