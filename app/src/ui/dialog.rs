//! A question before something that cannot be undone.
//!
//! It is part of the page whose URL asks it (`?confirm=purge`): the server renders it open, so it works without a
//! script; once hydrated it becomes modal, traps the focus, and Escape leads back. Meanwhile the page behind it stands
//! still.

use crate::state::{base_path, hold};
use leptos::{ev, html, prelude::*};
use leptos_router::{NavigateOptions, hooks::use_navigate};

/// The frame of the question; its answers are the children.
#[component]
pub fn Dialog(
    /// The question.
    #[prop(into)]
    title: String,
    /// The page without the question.
    #[prop(into)]
    close: String,
    children: Children,
) -> impl IntoView {
    let dialog = NodeRef::<html::Dialog>::new();
    let navigate = use_navigate();
    let base = base_path::current();
    hold::while_here();
    Effect::new(move |_| {
        if let Some(element) = dialog.get() {
            // Rendered open for the page without a script; only `show_modal` makes the rest inert.
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
