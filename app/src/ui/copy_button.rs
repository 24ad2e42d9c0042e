//! Copies a text. It appears only once the page can do it: without a script there is nothing to press.

use super::{Glyph, Icon};
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen_futures::JsFuture;

/// An icon button; says `Copied` for a moment.
#[component]
pub fn CopyButton(
    /// What lands in the clipboard.
    #[prop(into)]
    text: String,
    /// What a screen reader says.
    #[prop(into)]
    says: String,
) -> impl IntoView {
    let can_copy = RwSignal::new(false);
    let is_done = RwSignal::new(false);
    // Browsers hand out the clipboard on https and on localhost only.
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
