//! Checkboxes of a row, and of the whole page.

use crate::state::selection::Selection;
use leptos::{ev::MouseEvent, html, prelude::*};
use uuid::Uuid;

/// Selects one row; with shift, every row from the last one.
#[component]
pub fn RowCheckbox(
    id: Uuid,
    /// The row, for a screen reader.
    about: String,
    /// Selected rows of all pages.
    selection: Selection,
    /// The page's rows, in order.
    page: StoredValue<Vec<Uuid>>,
    /// All that match are selected: this row cannot be deselected alone.
    is_of_all: bool,
    /// Its state at first.
    is_checked: bool,
) -> impl IntoView {
    let node = NodeRef::<html::Input>::new();
    Effect::new(move |before: Option<()>| {
        let is_checked = selection.has(id);
        if let Some(checkbox) = node.get() {
            // A box that was checked before the page was hydrated stays checked.
            if before.is_none() && checkbox.checked() && !is_checked && !is_of_all {
                selection.set(id, true);
            } else if !is_of_all {
                checkbox.set_checked(is_checked);
            }
        }
    });
    let on_click = move |event: MouseEvent| {
        let Some(checkbox) = node.get_untracked() else { return };
        if event.shift_key() {
            page.with_value(|page| selection.set_range(page, id, checkbox.checked()));
        } else {
            selection.set(id, checkbox.checked());
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
                checked=is_checked || is_of_all
                disabled=is_of_all
                on:click=on_click
            />
            <span class="sr-only">{format!("Select {about}")}</span>
        </label>
    }
    .into_any()
}

/// Selects every row of the page, or none; without a script a link below the list does.
#[component]
pub fn PageCheckbox(
    /// Selected rows of all pages.
    selection: Selection,
    /// The page's rows.
    page: StoredValue<Vec<Uuid>>,
    /// All that match are selected already.
    is_of_all: bool,
) -> impl IntoView {
    let is_hydrated = RwSignal::new(false);
    Effect::new(move |_| is_hydrated.set(true));
    let is_whole = move || page.with_value(|page| page.iter().all(|id| selection.has(*id)));
    let on_click = move |_| {
        let is_checked = !is_whole();
        page.with_value(|page| selection.set_all(page, is_checked));
    };
    view! {
        <span class="sr-only" hidden=move || is_hydrated.get()>
            "Select"
        </span>
        <label class="inline-flex items-center gap-2" hidden=move || !is_hydrated.get()>
            <input
                type="checkbox"
                class="check"
                disabled=is_of_all
                prop:checked=move || is_of_all || is_whole()
                on:change=on_click
            />
            <span class="sr-only">"Select all on this page"</span>
        </label>
    }
    .into_any()
}
