//! The console: pages are rendered on the server, hydrated in the browser and kept current by server-sent events.
//!
//! Everything but [`server`] compiles for both sides; server functions import from there inside their bodies. A function whose doc
//! has no `# Errors` fails only when the database cannot answer, or when an address or form cannot be read ([`calls::error`]).
#![recursion_limit = "512"]
#![expect(
    unreachable_pub,
    reason = "#[component] generates a second public item for each component, which is not re-exported"
)]

pub mod app;
pub mod calls;
pub mod components;
pub mod format;
pub mod forms;
pub mod pages;
#[cfg(feature = "ssr")]
pub mod server;
pub mod shell;
pub mod state;
pub mod ui;

/// Memory that hydration of a page needs.
#[cfg(feature = "hydrate")]
const HEAP_BYTES: usize = 4 << 20;

/// Hydrates the page in the browser.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    use leptos::{mount::hydrate_from_async, prelude::*, server_fn::client::set_server_url};
    use model::instance::Instance;
    use state::{base_path::BasePath, page_files, theme::Theme};
    use wasm_bindgen_futures::spawn_local;
    console_error_panic_hook::set_once();
    // Grows the memory once instead of step by step during hydration: each growth makes the JavaScript side create its views of it again.
    drop(std::hint::black_box(Vec::<u8>::with_capacity(HEAP_BYTES)));
    let root = document().document_element();
    let attribute = |name| root.as_ref().and_then(|root| root.get_attribute(name)).unwrap_or_default();
    let base = BasePath::new(&attribute("data-base"));
    let theme = attribute("data-theme").parse::<Theme>().unwrap_or_default();
    let instance = attribute("data-instance").parse::<Instance>().ok();
    // Leaked on purpose: it is needed as long as the page lives.
    set_server_url(String::leak(base.as_str().to_owned()));
    ui::hold_redirects();
    let Some(body) = document().body() else { return };
    spawn_local(async move {
        let app = move || {
            provide_context(base.clone());
            provide_context(theme);
            if let Some(instance) = instance.clone() {
                provide_context(instance);
            }
            view! { <app::App /> }
        };
        // Resolves when the page's own part of the wasm has been loaded.
        hydrate_from_async(body, app).await.forget();
        // Suspended parts are hydrated in tasks that run before this timeout.
        set_timeout(page_files::set_hydrated, std::time::Duration::ZERO);
    });
}
