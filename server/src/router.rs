//! The whole router, for `serve` and for tests.

use crate::api::problem::Problem;
use crate::middleware::{
    client_body, origin, request_id, safe_headers, session, uncancelled, with_anonymous_limits,
};
use crate::state::AppState;
use crate::{api, console, console_files, health, metrics};
use axum::Router;
use axum::extract::Request;
use axum::http::Uri;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Redirect;
use axum::routing::get;
use tower::ServiceExt as _;
use tower_http::compression::predicate::{DefaultPredicate, NotForContentType, Predicate as _};
use tower_http::compression::{CompressionLayer, CompressionLevel};

/// Everything below the mount prefix; health and metrics at the root as well, for probes that do not go through the proxy.
pub fn build(state: AppState) -> Router {
    let base = state.settings.base_path.clone();
    let probe_routes = probe_routes();
    let below = Router::new()
        .merge(probe_routes.clone().with_state(state.clone()))
        .merge(api::router(&state))
        .merge(console_files::routes())
        .merge(with_anonymous_limits(console::calls(&state)));
    // The paths of pages include the prefix already, because the console's own router matches whole paths.
    let pages = console::pages(&state);
    let router = if base.is_empty() {
        below.merge(pages)
    } else {
        let to_console = format!("{base}/");
        // The overview has the route `/gate` only, but people and proxies also request `/gate/`.
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
    around(router, &state).layer(compression())
}

/// Wraps the whole router. From the outside in: a request is finished even when the client hangs up; it has an id and a client address; every answer
/// has security headers; no body is larger than 16 MB or arrives too slowly; a session cookie is authenticated; writes by cookie must come from our
/// own pages. Bodies are decompressed further in, once the actor is known (`decompress`, `with_anonymous_limits`).
fn around(router: Router, state: &AppState) -> Router {
    let settings = &state.settings;
    let bounds = (settings.pace, settings.memory.clone());
    router
        .layer(from_fn(origin::same_origin))
        .layer(from_fn_with_state(state.headgate.access().clone(), session::authenticate_session))
        .layer(from_fn_with_state(bounds, client_body::limit_body))
        .layer(from_fn(safe_headers))
        .layer(from_fn_with_state(settings.trusted_proxies.clone(), request_id::with_request_id))
        .layer(from_fn(uncancelled::uncancelled))
}

/// The router for connections beyond the limit: probes and metrics are answered, everything else is 503.
pub fn probes(state: &AppState) -> Router {
    let probe_routes = probe_routes().with_state(state.clone());
    let base = &state.settings.base_path;
    let router = if base.is_empty() { probe_routes } else { probe_routes.clone().nest(base, probe_routes) };
    router.fallback(async || Problem::too_many_connections()).layer(from_fn(safe_headers))
}

fn probe_routes() -> Router<AppState> {
    Router::new().merge(health::routes()).merge(metrics::routes())
}

/// The URL without the trailing slash of its path.
fn without_slash(uri: &Uri) -> Uri {
    let path = uri.path().trim_end_matches('/');
    let wanted = uri.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
    // A URL stays valid without it, so this does not fail.
    wanted.parse().unwrap_or_else(|_| uri.clone())
}

/// The fastest level, because each answer is read once. Event streams are not compressed, and wasm is compressed already.
fn compression() -> CompressionLayer<impl tower_http::compression::Predicate> {
    let worth_it = DefaultPredicate::new()
        .and(NotForContentType::new("application/wasm"))
        .and(NotForContentType::new("text/event-stream"));
    CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(worth_it)
}
