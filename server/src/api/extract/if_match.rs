//! The `If-Match` header. Without it a change applies to any version.

use crate::api::problem::Problem;
use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use model::etag;

/// The `If-Match` of a change or a deletion: it applies to the version the client has read, or is refused (412).
pub struct IfMatch(pub etag::IfMatch);

impl<S: Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let mut tags = parts.headers.get_all(header::IF_MATCH).iter().peekable();
        if tags.peek().is_none() {
            return Ok(Self(etag::IfMatch::Any));
        }
        let tags: Vec<_> = tags.map(|tags| String::from_utf8_lossy(tags.as_bytes())).collect();
        let if_match = etag::IfMatch::parse(&tags.join(","));
        if_match.map(Self).map_err(|bad| Problem::fault("if-match", bad.to_string()))
    }
}
