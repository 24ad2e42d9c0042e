use axum::{
    extract::FromRequestParts,
    http::{header, request::Parts},
};
use model::etag;
use std::convert::Infallible;

/// The `If-Match` of a change: it is made of the version somebody has read, or not at all (412).
pub struct IfMatch(pub etag::IfMatch);

impl<S: Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let tags = parts.headers.get_all(header::IF_MATCH).iter();
        let tags: Vec<_> = tags.map(|tags| String::from_utf8_lossy(tags.as_bytes())).collect();
        Ok(Self(etag::IfMatch::parse(&tags.join(","))))
    }
}
