//! Keyboard shortcuts of every page: the palette, help, lists without a pointer.
//!
//! One listener for the window. It reads the document: rows are the rows of the page's first table, so a list needs no code for it.
//! While somebody types, or a dialog is open, keys are left alone.

use leptos::{ev, prelude::*, wasm_bindgen::JsCast, web_sys};
use std::{cell::Cell, rc::Rc};
use web_sys::{Element, HtmlElement, HtmlInputElement, KeyboardEvent};

/// Keys and what they do, for the help.
pub const KEYS: &[(&str, &str)] = &[
    ("Ctrl K or ⌘ K", "jump to an id, a name, a page or an action"),
    ("/", "search this page"),
    ("j, k", "next and previous row"),
    ("Enter", "open the row"),
    ("x", "select the row"),
    ("r", "requeue the selected rows, or this one"),
    ("g, then o i j d", "go to Overview, Integrations, Jobs, Dead letters"),
    ("?", "these keys"),
];

/// Calls `open` for ⌘K and Ctrl+K.
pub fn on_palette(open: impl Fn() + 'static) {
    on_key(move |event| {
        let is_chord = (event.ctrl_key() || event.meta_key()) && !event.alt_key() && !event.shift_key();
        let is_match = is_chord && event.key().eq_ignore_ascii_case("k");
        if is_match {
            open();
        }
        is_match
    });
}

/// Calls `act` for each key without a modifier, and passes whether `g` was pressed before it.
pub fn on_plain(act: impl Fn(&str, bool) -> bool + 'static) {
    let after_g = Cell::new(false);
    on_key(move |event| {
        if event.default_prevented() || is_input(event) {
            return false;
        }
        let key = event.key();
        let is_second = after_g.replace(key == "g");
        act(&key, is_second)
    });
}

/// Listens as long as the component lives. A key that `act` handled does not reach the browser.
fn on_key(act: impl Fn(&KeyboardEvent) -> bool + 'static) {
    let act = Rc::new(act);
    Effect::new(move |_| {
        let act = Rc::clone(&act);
        let handle = window_event_listener(ev::keydown, move |event| {
            if act(&event) {
                event.prevent_default();
            }
        });
        on_cleanup(move || handle.remove());
    });
}

/// Whether the key belongs to a field, a dialog or the browser.
fn is_input(event: &KeyboardEvent) -> bool {
    if event.ctrl_key() || event.meta_key() || event.alt_key() {
        return true;
    }
    let types = event.target().and_then(|target| target.dyn_into::<Element>().ok()).is_some_and(|element| {
        match element.tag_name().as_str() {
            "TEXTAREA" | "SELECT" => true,
            "INPUT" => element.get_attribute("type").as_deref() != Some("checkbox"),
            _ => element.has_attribute("contenteditable"),
        }
    });
    types || find("dialog[open]").is_some()
}

/// Focuses the page's search field.
pub fn search() -> bool {
    let Some(field) = find("main [role=search] input:not([type=hidden])").and_then(to_html) else {
        return false;
    };
    let _ = field.focus();
    if let Ok(input) = field.dyn_into::<HtmlInputElement>() {
        input.select();
    }
    true
}

/// Moves to the next row, or the one before.
pub fn step(by: i32) -> bool {
    let rows = rows();
    let Ok(count) = i32::try_from(rows.len()) else { return false };
    if count == 0 {
        return false;
    }
    let next = match current(&rows) {
        Some(at) => (i32::try_from(at).unwrap_or(0) + by).clamp(0, count - 1),
        None if by > 0 => 0,
        None => count - 1,
    };
    let row = usize::try_from(next).ok().and_then(|at| rows.get(at));
    let link = row.and_then(|row| row.query_selector("td.what a, td a").ok().flatten());
    let Some(link) = link.and_then(to_html) else { return false };
    // Focus scrolls the row into view as well.
    link.focus().is_ok()
}

/// Selects or deselects the current row.
pub fn toggle_row() -> bool {
    let rows = rows();
    let Some(checkbox) = current(&rows).and_then(|at| checkbox(&rows[at])) else { return false };
    checkbox.click();
    true
}

/// Requeues the selected rows, or the current one when none is selected.
pub fn requeue() -> bool {
    let Some(button) = find("[data-key=r]").and_then(to_html) else { return false };
    let rows = rows();
    let has_selection = rows.iter().filter_map(checkbox).any(|checkbox| checkbox.checked());
    if !has_selection && !rows.is_empty() {
        let Some(checkbox) = current(&rows).and_then(|at| checkbox(&rows[at])) else { return false };
        checkbox.click();
    }
    button.click();
    true
}

fn rows() -> Vec<Element> {
    let Some(table) = find("main .table") else { return Vec::new() };
    let Ok(found) = table.query_selector_all("tbody tr") else { return Vec::new() };
    (0..found.length()).filter_map(|at| found.item(at)?.dyn_into().ok()).collect()
}

/// The row with the focus.
fn current(rows: &[Element]) -> Option<usize> {
    let focused = document().active_element()?;
    rows.iter().position(|row| row.contains(Some(&focused)))
}

fn checkbox(row: &Element) -> Option<HtmlInputElement> {
    row.query_selector("input[type=checkbox]").ok().flatten()?.dyn_into().ok()
}

fn find(selector: &str) -> Option<Element> {
    document().query_selector(selector).ok().flatten()
}

fn to_html(element: Element) -> Option<HtmlElement> {
    element.dyn_into().ok()
}
