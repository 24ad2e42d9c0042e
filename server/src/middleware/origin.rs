//! Protection against cross-site request forgery: every write with a session cookie must come from our own pages.
//!
//! Browsers send `Sec-Fetch-Site` where they can and `Origin` with every cross-site POST, so a request with a cookie and neither is not from one of
//! our pages. Signing in and out is checked even without a cookie, so that another site cannot sign somebody in as somebody else.

use super::session::BySession;
use crate::api::problem::Problem;
use axum::extract::Request;
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

pub(crate) async fn same_origin(request: Request, next: Next) -> Response {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let is_by_session = request.extensions().get::<BySession>().is_some();
    let is_cross_origin = match source(request.headers()) {
        Source::SameOrigin => false,
        Source::CrossOrigin => is_by_session || request.headers().get(header::AUTHORIZATION).is_none(),
        // A program without a cookie (curl with the sign-in form) has no session that could be misused.
        Source::Unknown => is_by_session,
    };
    if !is_read && is_cross_origin {
        return Problem::forbidden("The request does not come from a page of this console.").into_response();
    }
    next.run(request).await
}

enum Source {
    SameOrigin,
    CrossOrigin,
    Unknown,
}

fn source(headers: &HeaderMap) -> Source {
    if let Some(site) = headers.get("sec-fetch-site") {
        return if matches!(site.as_bytes(), b"same-origin" | b"none") {
            Source::SameOrigin
        } else {
            Source::CrossOrigin
        };
    }
    let Some(origin) = headers.get(header::ORIGIN) else { return Source::Unknown };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
    match (origin, host) {
        (Some(origin), Some(host)) if origin.eq_ignore_ascii_case(host) => Source::SameOrigin,
        _ => Source::CrossOrigin,
    }
}
