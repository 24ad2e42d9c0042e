//! Size limits for bodies that are buffered before a handler checks the actor: sign-in forms and server functions. Clients that are not signed in
//! may send little, before and after decompression.

use super::{client_body::content_length, content_encoding::decompress};
use crate::api::problem::Problem;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use http_body_util::Limited;
use model::actor::Actor;

/// Enough for an e-mail address, a password and the page to return to.
const MAX_ANONYMOUS_BYTES: usize = 64_000;
/// Enough for a payload of 1 MB with every byte percent-encoded as three.
const MAX_FORM_BYTES: usize = 4_000_000;

/// Limits the size as sent, and the size after decompression.
pub(crate) fn with_anonymous_limits<S: Clone + Send + Sync + 'static>(router: Router<S>) -> Router<S> {
    router.layer(from_fn(limit_size)).layer(from_fn(decompress)).layer(from_fn(limit_size))
}

async fn limit_size(request: Request, next: Next) -> Response {
    let is_signed_in = request.extensions().get::<Actor>().is_some();
    let limit = if is_signed_in { MAX_FORM_BYTES } else { MAX_ANONYMOUS_BYTES };
    if content_length(request.headers()) > limit {
        return Problem::too_long().into_response();
    }
    next.run(request.map(|body| Body::new(Limited::new(body, limit)))).await
}
