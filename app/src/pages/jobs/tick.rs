//! The tick of a row, and the one that ticks the page.

use crate::state::selection::Selection;
use leptos::{ev::MouseEvent, html, prelude::*};
use uuid::Uuid;

/// Ticks one row; with shift, every row from the one before.
#[component]
pub fn Tick(
    /// The row's job.
    id: Uuid,
    /// What it is about, for a screen reader.
    about: String,
    /// All that are ticked.
    selection: Selection,
    /// The page's rows, in order.
    page: StoredValue<Vec<Uuid>>,
    /// Ticked because all that match are: it cannot be taken away alone.
    is_of_all: bool,
    /// Ticked at first.
    is_ticked: bool,
) -> impl IntoView {
    let node = NodeRef::<html::Input>::new();
    Effect::new(move |before: Option<()>| {
        let is_ticked = selection.has(id);
        if let Some(tick) = node.get() {
            // What was ticked before the page could listen is ticked.
            if before.is_none() && tick.checked() && !is_ticked && !is_of_all {
                selection.set(id, true);
            } else if !is_of_all {
                tick.set_checked(is_ticked);
            }
        }
    });
    let on_click = move |event: MouseEvent| {
        let Some(tick) = node.get_untracked() else { return };
        if event.shift_key() {
            page.with_value(|page| selection.set_range(page, id, tick.checked()));
        } else {
            selection.set(id, tick.checked());
        }
    };
    view! {
        <label class="inline-flex items-center gap-2">
            <input
                type="checkbox"
                class="check"
                name="ids[]"
                value=id.to_string()
                form="chosen"
                node_ref=node
                checked=is_ticked || is_of_all
                disabled=is_of_all
                on:click=on_click
            />
            <span class="sr-only">{format!("Choose {about}")}</span>
        </label>
    }
    .into_any()
}

/// Ticks every row of the page, or unticks them; without a script a link below the list does.
#[component]
pub fn TickPage(
    /// All that are ticked.
    selection: Selection,
    /// The page's rows.
    page: StoredValue<Vec<Uuid>>,
    /// All that match are ticked already.
    is_of_all: bool,
) -> impl IntoView {
    let is_alive = RwSignal::new(false);
    Effect::new(move |_| is_alive.set(true));
    let is_whole = move || page.with_value(|page| page.iter().all(|id| selection.has(*id)));
    let on_click = move |_| {
        let is_ticked = !is_whole();
        page.with_value(|page| selection.set_all(page, is_ticked));
    };
    view! {
        <span class="sr-only" hidden=move || is_alive.get()>
            "Choose"
        </span>
        <label class="inline-flex items-center gap-2" hidden=move || !is_alive.get()>
            <input
                type="checkbox"
                class="check"
                disabled=is_of_all
                prop:checked=move || is_of_all || is_whole()
                on:change=on_click
            />
            <span class="sr-only">"Choose all on this page"</span>
        </label>
    }
    .into_any()
}
