//! The console: pages rendered on the server, taken over by the browser, live by server-sent events.
//!
//! Everything but [`server`] compiles for both sides; server functions import from there inside their bodies.
#![recursion_limit = "512"]
#![expect(
    unreachable_pub,
    reason = "#[component] makes a second item beside each component that nobody re-exports"
)]

pub mod app;
pub mod calls;
pub mod components;
pub mod format;
pub mod pages;
#[cfg(feature = "ssr")]
pub mod server;
pub mod shell;
pub mod state;
pub mod ui;

/// What taking a page over needs, in bytes.
#[cfg(feature = "hydrate")]
const MEMORY: usize = 4 << 20;

/// Takes the page over in the browser.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    use leptos::{mount::hydrate_from_async, prelude::*, server_fn::client::set_server_url};
    use state::{base_path::BasePath, page_files, theme::Theme};
    use wasm_bindgen_futures::spawn_local;
    console_error_panic_hook::set_once();
    // Memory once, instead of bit by bit while the page is taken over: each growth makes the script look at all of it anew.
    drop(std::hint::black_box(Vec::<u8>::with_capacity(MEMORY)));
    let root = document().document_element();
    let attribute = |name| root.as_ref().and_then(|root| root.get_attribute(name)).unwrap_or_default();
    let base = BasePath::new(&attribute("data-base"));
    let theme = attribute("data-theme").parse::<Theme>().unwrap_or_default();
    // Lives as long as the page.
    set_server_url(String::leak(base.as_str().to_owned()));
    let Some(body) = document().body() else { return };
    spawn_local(async move {
        let app = move || {
            provide_context(base.clone());
            provide_context(theme);
            view! { <app::App /> }
        };
        // Ends when the page's own part of the script has come.
        hydrate_from_async(body, app).await.forget();
        // What was suspended is taken over in tasks that run before this.
        set_timeout(page_files::set_taken_over, std::time::Duration::ZERO);
    });
}
