//! The layers around every request, one per file. [`around`] puts them in order.

mod anonymous_limits;
mod client_address;
pub(crate) mod client_body;
mod content_encoding;
mod idempotency;
mod key;
mod origin;
mod request_id;
pub(crate) mod request_memory;
mod security_headers;
pub mod session;
mod uncancelled;

pub(crate) use anonymous_limits::with_anonymous_limits;
pub use client_address::{ClientAddress, TrustedProxies};
pub use client_body::Pace;
pub(crate) use content_encoding::decompress;
pub(crate) use idempotency::{KEYLESS_PATH, KeyedCalls, idempotent};
pub(crate) use key::authenticate_key;
pub use request_id::RequestId;
pub use request_memory::RequestMemory;
pub(crate) use security_headers::{is_https, safe_headers};

use crate::state::AppState;
use axum::{Router, middleware::from_fn, middleware::from_fn_with_state};

/// Wraps the whole router. From the outside in: a request is finished even when the client hangs up; it has an id and a client address; every answer
/// has security headers; no body is larger than 16 MB or arrives too slowly; a session cookie is authenticated; writes by cookie must come from our
/// own pages. Bodies are decompressed further in, once the actor is known (`decompress`, `with_anonymous_limits`).
pub fn around(router: Router, state: &AppState) -> Router {
    router
        .layer(from_fn(origin::same_origin))
        .layer(from_fn_with_state(state.access.clone(), session::authenticate_session))
        .layer(from_fn_with_state(state.clone(), client_body::limit_body))
        .layer(from_fn(safe_headers))
        .layer(from_fn_with_state(state.clone(), request_id::with_request_id))
        .layer(from_fn(uncancelled::uncancelled))
}
