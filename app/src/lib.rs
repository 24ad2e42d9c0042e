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

/// Takes the page over in the browser.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    use leptos::{mount::hydrate_body, prelude::*, server_fn::client::set_server_url};
    use state::{base_path::BasePath, theme::Theme};
    console_error_panic_hook::set_once();
    let root = document().document_element();
    let attribute = |name| root.as_ref().and_then(|root| root.get_attribute(name)).unwrap_or_default();
    let base = BasePath::new(&attribute("data-base"));
    let theme = attribute("data-theme").parse::<Theme>().unwrap_or_default();
    // Lives as long as the page.
    set_server_url(String::leak(base.as_str().to_owned()));
    hydrate_body(move || {
        provide_context(base.clone());
        provide_context(theme);
        view! { <app::App /> }
    });
    // Tells journeys that buttons work from here on: what was suspended is taken over in tasks that run before this.
    set_timeout(
        move || {
            if let Some(root) = &root {
                let _ = root.set_attribute("data-hydrated", "");
            }
        },
        std::time::Duration::ZERO,
    );
}
