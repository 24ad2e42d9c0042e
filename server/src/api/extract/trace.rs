//! The trace of a request (W3C Trace Context).

use axum::{extract::FromRequestParts, http::request::Parts};
use model::trace::TraceContext;
use std::convert::Infallible;

/// Its `traceparent`. `None` without one, with several, or with a malformed one: the standard says to ignore those.
#[derive(Clone, Copy, Debug)]
pub struct Trace(pub Option<TraceContext>);

impl<S: Sync> FromRequestParts<S> for Trace {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let mut given = parts.headers.get_all("traceparent").iter();
        let only = given.next().filter(|_| given.next().is_none());
        Ok(Self(only.and_then(|value| value.to_str().ok()?.trim().parse().ok())))
    }
}
