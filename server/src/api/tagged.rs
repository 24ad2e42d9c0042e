//! Answers with one thing that is changed by PATCH: its `etag` tells which version it is.

use axum::{
    Json,
    http::header,
    response::{IntoResponse, Response},
};
use model::etag::Revised;
use serde::Serialize;

/// The thing as JSON, with its tag.
pub(super) struct Tagged<T>(pub(super) T);

impl<T: Revised + Serialize> IntoResponse for Tagged<T> {
    fn into_response(self) -> Response {
        ([(header::ETAG, self.0.etag())], Json(self.0)).into_response()
    }
}
