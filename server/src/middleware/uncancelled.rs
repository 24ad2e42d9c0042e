//! Runs handlers to their end even when the client hangs up.
//!
//! axum drops a handler's future when its client is gone, and a dropped `begin()` of sqlx 0.9.0 leaves the pooled connection inside a
//! transaction. In a task of its own the handler runs to its end; only the answer is lost.

use crate::api::problem::Problem;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

pub(crate) async fn uncancelled(request: Request, next: Next) -> Response {
    match tokio::spawn(next.run(request)).await {
        Ok(response) => response,
        Err(error) => {
            tracing::error!(%error, "a handler panicked");
            Problem::internal().into_response()
        }
    }
}
