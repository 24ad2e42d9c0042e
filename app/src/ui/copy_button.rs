//! Copies a text. The button is hidden until the page is hydrated, because it does nothing without a script.

use super::{Glyph, Icon};
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen_futures::JsFuture;

/// An icon button that announces `Copied` for a moment.
#[component]
pub fn CopyButton(#[prop(into)] text: String, #[prop(into)] says: String) -> impl IntoView {
    let can_copy = RwSignal::new(false);
    let is_done = RwSignal::new(false);
    // Browsers give access to the clipboard only on https and on localhost.
    Effect::new(move |_| can_copy.set(window().is_secure_context()));
    let copy = move |_| {
        let written = window().navigator().clipboard().write_text(&text);
        spawn_local(async move {
            if JsFuture::from(written).await.is_ok() {
                is_done.set(true);
                set_timeout(
                    move || {
                        is_done.try_set(false);
                    },
                    std::time::Duration::from_secs(2),
                );
            }
        });
    };
    view! {
        <button
            type="button"
            class="inline-grid place-items-center w-6 h-6 align-middle rounded-[5px] text-faint hover:text-ink hover:bg-sunken"
            hidden=move || !can_copy.get()
            aria-label=says
            on:click=copy
        >
            <Icon glyph=Signal::derive(move || if is_done.get() { Glyph::Check } else { Glyph::Copy }) />
        </button>
        <span class="sr-only" role="status">{move || if is_done.get() { "Copied" } else { "" }}</span>
    }
}
