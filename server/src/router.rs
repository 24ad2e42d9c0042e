//! The whole router, as `serve` runs it and tests use it.

use crate::{
    api::{self, problem::Problem},
    console, console_files, health, metrics, middleware,
    state::AppState,
};
use axum::{Router, extract::Request, http::Uri, middleware::from_fn, response::Redirect, routing::get};
use tower::ServiceExt as _;
use tower_http::compression::{
    CompressionLayer, CompressionLevel,
    predicate::{DefaultPredicate, NotForContentType, Predicate as _},
};

/// Everything below the mount prefix; health and metrics at the root as well, where a machine behind the proxy asks.
pub fn build(state: AppState) -> Router {
    let base = state.settings.base_path.clone();
    let probe_routes = probe_routes();
    let below = Router::new()
        .merge(probe_routes.clone().with_state(state.clone()))
        .merge(api::router(&state))
        .merge(console_files::routes())
        .merge(middleware::with_anonymous_limits(console::calls(&state)));
    // Pages carry the prefix in their paths already: the console's own router matches whole addresses.
    let pages = console::pages(&state);
    let router = if base.is_empty() {
        below.merge(pages)
    } else {
        let to_console = format!("{base}/");
        // The overview is listed as `/gate` alone; people and proxies ask for `/gate/`.
        let overview = pages.clone();
        let at_slash = async move |mut request: Request| {
            *request.uri_mut() = without_slash(request.uri());
            overview.oneshot(request).await
        };
        Router::new()
            .nest(&base, below)
            .merge(pages)
            .merge(probe_routes.with_state(state.clone()))
            .route(&to_console, get(at_slash))
            .route("/", get(async move |_: Uri| Redirect::temporary(&to_console)))
    };
    let router = router
        .method_not_allowed_fallback(async || Problem::method_not_allowed())
        .fallback_service(console::not_found(&state));
    middleware::around(router, &state).layer(compression())
}

/// What is answered where there is no room for more: probes and metrics. Everything else is told to come back.
pub fn probes(state: &AppState) -> Router {
    let probe_routes = probe_routes().with_state(state.clone());
    let base = &state.settings.base_path;
    let router = if base.is_empty() { probe_routes } else { probe_routes.clone().nest(base, probe_routes) };
    router.fallback(async || Problem::too_many_connections()).layer(from_fn(middleware::safe_headers))
}

fn probe_routes() -> Router<AppState> {
    Router::new().merge(health::routes()).merge(metrics::routes())
}

/// The same address without the slash at the end of its path.
fn without_slash(uri: &Uri) -> Uri {
    let path = uri.path().trim_end_matches('/');
    let wanted = uri.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
    // What was an address stays one when a slash is taken away.
    wanted.parse().unwrap_or_else(|_| uri.clone())
}

/// Quick levels: answers are made once and read once. Events are a stream, wasm comes compressed.
fn compression() -> CompressionLayer<impl tower_http::compression::Predicate> {
    let worth_it = DefaultPredicate::new()
        .and(NotForContentType::new("application/wasm"))
        .and(NotForContentType::new("text/event-stream"));
    CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(worth_it)
}
