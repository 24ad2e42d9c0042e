//! Answers with one object that PATCH can change: its `etag` identifies the version.

use axum::Json;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use model::etag::Revised;
use serde::Serialize;

/// The object as JSON, with its etag.
pub(super) struct Tagged<T>(pub(super) T);

impl<T: Revised + Serialize> IntoResponse for Tagged<T> {
    fn into_response(self) -> Response {
        ([(header::ETAG, self.0.etag())], Json(self.0)).into_response()
    }
}
