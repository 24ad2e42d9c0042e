//! A confirmation dialog.
//!
//! It belongs to the page and its URL (`?confirm=purge`): the server renders it open, so it works without a script; once
//! hydrated it becomes modal, traps the focus, and Escape leads back. While it is open the page behind it is frozen.

use crate::state::{base_path, freeze};
use leptos::{ev, html, prelude::*};
use leptos_router::{NavigateOptions, hooks::use_navigate};

/// The title and, as children, the answers.
#[component]
pub fn Dialog(
    #[prop(into)] title: String,
    /// The address of the page without the dialog.
    #[prop(into)]
    close: String,
    children: Children,
) -> impl IntoView {
    let dialog = NodeRef::<html::Dialog>::new();
    let navigate = use_navigate();
    let base = base_path::current();
    freeze::while_mounted();
    Effect::new(move |_| {
        if let Some(element) = dialog.get() {
            // Rendered open for pages without a script; only `show_modal` makes the rest of the page inert.
            element.close();
            if element.show_modal().is_err() {
                element.set_open(true);
            }
        }
    });
    let on_cancel = move |event: ev::Event| {
        event.prevent_default();
        navigate(&base.join(&close), NavigateOptions { replace: true, scroll: false, ..Default::default() });
    };
    view! {
        <dialog class="ask" node_ref=dialog open aria-labelledby="ask-title" on:cancel=on_cancel>
            <h2 id="ask-title" class="type-section font-semibold mb-1.5">
                {title}
            </h2>
            {children()}
        </dialog>
    }
    .into_any()
}
