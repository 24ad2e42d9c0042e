//! The REST API under `/api/v1`: one file per resource; each handler extracts, calls one function, answers.
//!
//! The OpenAPI document is generated from the declarations that make the routes, so neither can exist without the other.
#![expect(unused_qualifications, reason = "utoipa's macros write whole paths")]

pub mod extract;
pub mod problem;
pub mod sign_in;

mod api_keys;
mod apps;
mod audit_log;
mod bulk;
mod cloud_events;
mod dead_letters;
mod dead_letters_export;
mod device;
mod docs;
mod events;
mod failures;
mod integration_control;
mod integrations;
mod jobs;
mod live;
mod openapi;
mod operations;
mod rate_limits;
mod records;
mod resyncs;
mod retention;
mod saved_views;
mod stats;
mod tagged;
mod users;
mod workers;

pub use openapi::document;

use crate::middleware::{KeyedCalls, authenticate_key, decompress, idempotent};
use crate::replica::lag_header;
use crate::state::AppState;
use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use problem::Problem;
use utoipa_axum::router::OpenApiRouter;

/// `/api/v1/…`, `/api/openapi.json`, `/api/docs`, and the console's sign-in endpoints. The caller wraps it with
/// the layers of [`crate::router`].
pub fn router(state: &AppState) -> Router {
    let (v1, openapi) = openapi::finish(resources(), &state.settings.base_path);
    let keyed = KeyedCalls::new(state, |parts| {
        v1.clone().method_not_allowed_fallback(method_not_allowed).with_state(parts)
    });
    let v1 = v1
        .layer(from_fn_with_state(keyed, idempotent))
        .layer(from_fn(decompress))
        .layer(from_fn_with_state(state.headgate.access().clone(), authenticate_key))
        // After the layers: a path that does not exist is 404 without authentication.
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(from_fn_with_state(state.replica.clone(), lag_header))
        .layer(from_fn(no_store))
        .with_state(state.clone());
    Router::new().nest("/api/v1", v1).nest("/api", docs::router(&openapi)).merge(sign_in::router(state))
}

/// Every resource, with paths relative to `/api/v1`.
fn resources() -> OpenApiRouter<AppState> {
    openapi::empty()
        .merge(apps::router())
        .merge(integrations::router())
        .merge(integration_control::router())
        .merge(resyncs::router())
        .merge(events::router())
        .merge(records::router())
        .merge(jobs::router())
        .merge(saved_views::router())
        .merge(dead_letters::router())
        .merge(failures::router())
        .merge(dead_letters_export::router())
        .merge(operations::router())
        .merge(stats::router())
        .merge(live::router())
        .merge(workers::router())
        .merge(rate_limits::router())
        .merge(audit_log::router())
        .merge(retention::router())
        .merge(api_keys::router())
        .merge(users::router())
}

/// Answers of the API depend on who asks, so no cache may keep them.
async fn no_store(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn not_found() -> Problem {
    Problem::not_found()
}

async fn method_not_allowed() -> Problem {
    Problem::method_not_allowed()
}
