//! Forms of pages that work without JavaScript, with the same refusals as JSON bodies.

use super::body::read_problem;
use crate::api::problem::Problem;
use axum::extract::{FromRequest, Request, rejection::FormRejection};
use serde::de::DeserializeOwned;
use std::error::Error as _;

/// A body of `application/x-www-form-urlencoded`.
#[derive(Debug)]
pub struct Form<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Form<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let error = match axum::Form::from_request(request, state).await {
            Ok(axum::Form(read)) => return Ok(Self(read)),
            Err(error) => error,
        };
        Err(match error {
            FormRejection::InvalidFormContentType(_) => {
                Problem::unsupported_media_type("application/x-www-form-urlencoded")
            }
            FormRejection::BytesRejection(error) => read_problem(&error),
            _ => Problem::fault("", error.source().map_or_else(|| error.body_text(), ToString::to_string)),
        })
    }
}
