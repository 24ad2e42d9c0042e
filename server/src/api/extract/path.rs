//! Ids of the URL. A malformed id answers like an unknown one (404).

use crate::api::problem::Problem;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use model::{key::is_key, record::RecordKey};
use std::str::FromStr;

/// The `{id}` of the path.
#[derive(Clone, Copy, Debug)]
pub struct Id<T>(pub T);

impl<S: Send + Sync, T: FromStr + Send> FromRequestParts<S> for Id<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(text) =
            Path::<String>::from_request_parts(parts, state).await.map_err(|_| Problem::not_found())?;
        text.parse().map(Self).map_err(|_| Problem::not_found())
    }
}

/// `{app_id}/{record_type}/{record_id}`, percent-decoded.
#[derive(Clone, Debug)]
pub struct RecordPath(pub RecordKey);

impl<S: Send + Sync> FromRequestParts<S> for RecordPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path((app_id, record_type, record_id)) =
            Path::<(String, String, String)>::from_request_parts(parts, state)
                .await
                .map_err(|_| Problem::not_found())?;
        let app_id = app_id.parse().map_err(|_| Problem::not_found())?;
        if !is_key(&record_type) || !is_key(&record_id) {
            return Err(Problem::not_found());
        }
        Ok(Self(RecordKey { app_id, record_type, record_id }))
    }
}
