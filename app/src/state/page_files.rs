//! The wasm files of a page, besides those that every page needs. The document names them, so that the browser requests all of
//! them at once when the page is painted (`start.js`).

use super::base_path;
use leptos::prelude::*;
use leptos_meta::Link;
use leptos_router::location::Location;

/// The files that the program knows; paths below `/pkg`.
#[derive(Clone, Copy)]
pub struct PageFiles {
    /// The script that loads the others.
    pub loader: fn() -> Option<String>,
    /// The files of a page.
    pub of_page: fn(&str) -> Vec<String>,
}

/// Names a page's files in the head of the document that is being rendered.
pub(crate) fn announce(page: &str) {
    if !cfg!(feature = "ssr") {
        return;
    }
    let Some(files) = use_context::<PageFiles>() else { return };
    let base = base_path::current();
    for file in (files.of_page)(page) {
        let href = base.join(&format!("/pkg/{file}"));
        // Rendering the component registers the link in the document's head.
        let _ = view! { <Link rel="later" href=href as_="fetch" crossorigin="anonymous" /> }.to_html();
    }
}

pub(crate) fn loader() -> Option<String> {
    let loader = (use_context::<PageFiles>()?.loader)()?;
    Some(base_path::current().join(&format!("/pkg/{loader}")))
}

/// Loads the page at `to` from the server. Before hydration this is the current page, so nothing happens.
pub(crate) fn full_navigation(to: &Location) {
    if !is_hydrated() {
        return;
    }
    let (path, query) = (to.pathname.get_untracked(), to.search.get_untracked());
    let query = if query.is_empty() { query } else { format!("?{}", query.trim_start_matches('?')) };
    let _ = window().location().assign(&format!("{path}{query}{}", to.hash.get_untracked()));
}

/// Marks the page as hydrated (`data-hydrated`).
pub fn set_hydrated() {
    if let Some(root) = document().document_element() {
        let _ = root.set_attribute("data-hydrated", "");
    }
}

fn is_hydrated() -> bool {
    document().document_element().is_some_and(|root| root.has_attribute("data-hydrated"))
}
