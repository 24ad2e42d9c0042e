//! The files that a page's script is made of, beside what every page begins with: told to the browser with the page, so
//! that it asks for all of them at once, when the page is painted (`start.js`).

use super::base_path;
use leptos::prelude::*;
use leptos_meta::Link;
use leptos_router::location::Location;

/// Which files there are, as the program knows them; paths below `/pkg`.
#[derive(Clone, Copy)]
pub struct PageFiles {
    /// What loads the others.
    pub loader: fn() -> Option<String>,
    /// What a page needs.
    pub of_page: fn(&str) -> Vec<String>,
}

/// Puts a page's files into the head of the document that is being rendered.
pub(crate) fn announce(page: &str) {
    if !cfg!(feature = "ssr") {
        return;
    }
    let Some(files) = use_context::<PageFiles>() else { return };
    let base = base_path::current();
    for file in (files.of_page)(page) {
        let href = base.join(&format!("/pkg/{file}"));
        // Rendering tells the document's head.
        let _ = view! { <Link rel="later" href=href as_="fetch" crossorigin="anonymous" /> }.to_html();
    }
}

/// Where the loader is.
pub(crate) fn loader() -> Option<String> {
    let loader = (use_context::<PageFiles>()?.loader)()?;
    Some(base_path::current().join(&format!("/pkg/{loader}")))
}

/// Leaves for the page at `to` as a link does without a script. A page that was not taken over yet is that page already.
pub(crate) fn load_anew(to: &Location) {
    if !is_taken_over() {
        return;
    }
    let (path, query) = (to.pathname.get_untracked(), to.search.get_untracked());
    let query = if query.is_empty() { query } else { format!("?{}", query.trim_start_matches('?')) };
    let _ = window().location().assign(&format!("{path}{query}{}", to.hash.get_untracked()));
}

/// Tells that the page works from here on.
pub fn set_taken_over() {
    if let Some(root) = document().document_element() {
        let _ = root.set_attribute("data-hydrated", "");
    }
}

fn is_taken_over() -> bool {
    document().document_element().is_some_and(|root| root.has_attribute("data-hydrated"))
}
