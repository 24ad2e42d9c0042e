//! The page for addresses that no route has.

use crate::{calls::error::CallError, components::Refusal, ui::Glyph};
use leptos::prelude::*;
use leptos_meta::Title;

#[component]
pub fn NotFoundPage() -> impl IntoView {
    CallError::NotFound.set_response_status();
    view! {
        <Title text="Not found" />
        <Refusal
            code=404
            glyph=Glyph::Search
            title="Page not found"
            text="The URL may be mistyped or belong to another version of Headgate."
            href="/"
            go="Overview"
        />
    }
    .into_any()
}
