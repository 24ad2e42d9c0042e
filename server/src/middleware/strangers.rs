//! Bodies that are buffered before a handler asks who sends them: forms of the sign-in, server functions. Whoever is not signed in sends little.

use crate::api::problem::Problem;
use axum::{
    body::Body,
    extract::Request,
    middleware::Next,
    response::{IntoResponse, Response},
};
use http_body_util::Limited;
use model::{actor::Actor, json::MAX_REQUEST_BYTES};

use super::client_body::announced;

/// An address, a password, where somebody wanted to go.
const MOST_OF_A_STRANGER: usize = 64_000;

pub(crate) async fn sent_little(request: Request, next: Next) -> Response {
    let is_known = request.extensions().get::<Actor>().is_some();
    let most = if is_known { MAX_REQUEST_BYTES } else { MOST_OF_A_STRANGER };
    if announced(request.headers()) > most {
        return Problem::too_large("Before signing in, a request may have 64 kB.", Vec::new())
            .into_response();
    }
    next.run(request.map(|body| Body::new(Limited::new(body, most)))).await
}
