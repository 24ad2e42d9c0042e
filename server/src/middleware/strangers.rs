//! Bodies that are buffered before a handler asks who sends them: forms of the sign-in, server functions. Whoever is not signed in sends little,
//! packed or not.

use super::{client_body::announced, content_encoding::unpacked};
use crate::api::problem::Problem;
use axum::{
    Router,
    body::Body,
    extract::Request,
    middleware::{Next, from_fn},
    response::{IntoResponse, Response},
};
use http_body_util::Limited;
use model::actor::Actor;

/// An address, a password, where somebody wanted to go.
const MOST_OF_A_STRANGER: usize = 64_000;
/// A payload of 1 MB, each byte of it written as three.
const MOST_OF_A_FORM: usize = 4_000_000;

/// Of what comes over the wire, and of what that unpacks to.
pub(crate) fn with_anonymous_limits<S: Clone + Send + Sync + 'static>(router: Router<S>) -> Router<S> {
    router.layer(from_fn(sent_little)).layer(from_fn(unpacked)).layer(from_fn(sent_little))
}

async fn sent_little(request: Request, next: Next) -> Response {
    let is_known = request.extensions().get::<Actor>().is_some();
    let most = if is_known { MOST_OF_A_FORM } else { MOST_OF_A_STRANGER };
    if announced(request.headers()) > most {
        return Problem::too_long().into_response();
    }
    next.run(request.map(|body| Body::new(Limited::new(body, most)))).await
}
