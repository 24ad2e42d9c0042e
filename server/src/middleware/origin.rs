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
    let is_foreign = match judge(request.headers()) {
        Verdict::Ours => false,
        Verdict::Foreign => is_by_session || request.headers().get(header::AUTHORIZATION).is_none(),
        // A program without a cookie (curl at the sign-in form) has nothing that could be misused.
        Verdict::Unknown => is_by_session,
    };
    if !is_read && is_foreign {
        return Problem::forbidden("The request does not come from a page of this console.").into_response();
    }
    next.run(request).await
}

enum Verdict {
    Ours,
    Foreign,
    Unknown,
}

fn judge(headers: &HeaderMap) -> Verdict {
    if let Some(site) = headers.get("sec-fetch-site") {
        return if matches!(site.as_bytes(), b"same-origin" | b"none") {
            Verdict::Ours
        } else {
            Verdict::Foreign
        };
    }
    let Some(origin) = headers.get(header::ORIGIN) else { return Verdict::Unknown };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
    match (origin, host) {
        (Some(origin), Some(host)) if origin.eq_ignore_ascii_case(host) => Verdict::Ours,
        _ => Verdict::Foreign,
    }
}
