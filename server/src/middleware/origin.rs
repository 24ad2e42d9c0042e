//! What a cookie does must come from our own pages: one check for every write, whoever handles it (RELIABILITY 3.4).
//!
//! Browsers send `Sec-Fetch-Site` where they can and `Origin` with every cross-site POST. Without either, a request with a cookie is
//! not from a page of ours. Signing in and out is checked too, cookie or not: nobody is signed in as somebody else by a foreign page.

use super::session::BySession;
use crate::api::problem::Problem;
use axum::{
    extract::Request,
    http::{HeaderMap, Method, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

pub(crate) async fn same_origin(request: Request, next: Next) -> Response {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let is_by_session = request.extensions().get::<BySession>().is_some();
    let is_cross_origin = match source(request.headers()) {
        Source::SameOrigin => false,
        Source::CrossOrigin => is_by_session || request.headers().get(header::AUTHORIZATION).is_none(),
        // A program without a cookie (curl at the sign-in form) has nothing that could be misused.
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
