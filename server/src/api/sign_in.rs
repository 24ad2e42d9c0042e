//! Signing in and out without JavaScript: plain forms and the one-time link. `GET /sign-in` is a page of the console.
//!
//! The link signs in on GET, because people who open it from the terminal where it was printed expect to be signed in; it is printed nowhere
//! else. Programs that fetch links to preview or prefetch them would use it up: they get a page with a button instead.

use super::device;
use super::extract::{Form, Id};
use super::problem::Problem;
use crate::console::wants_page;
use crate::middleware::{ClientAddress, session, with_anonymous_limits};
use crate::state::AppState;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use axum_extra::extract::cookie::Cookie;
use serde::Deserialize;
use service::{AccessError, Client, SessionToken};
use url::form_urlencoded;
use uuid::Uuid;

/// Locations are relative in every answer, because the console may be served below any prefix.
pub(super) fn router(state: &AppState) -> Router {
    let router = Router::new()
        .route("/sign-in", post(sign_in))
        .route("/sign-out", post(sign_out))
        .route("/sign-in/link/{token}", get(open_link).post(redeem_link));
    with_anonymous_limits(router).with_state(state.clone())
}

#[derive(Deserialize)]
struct Credentials {
    email: String,
    password: String,
    /// The page that was requested before signing in.
    #[serde(default)]
    next: String,
}

async fn sign_in(
    State(state): State<AppState>,
    Extension(ClientAddress(address)): Extension<ClientAddress>,
    headers: HeaderMap,
    Form(form): Form<Credentials>,
) -> Response {
    let (email, key) = (form.email.trim(), &state.master_key);
    let device = device::device_of(&headers, email, key);
    match state.headgate.access().sign_in(email, &form.password, Client { address, device }).await {
        Ok(token) => {
            let device = device::cookie(&headers, email, device.unwrap_or_else(Uuid::now_v7), key);
            signed_in(&state, &headers, &token, &format!(".{}", local_path(&form.next)), device).await
        }
        Err(error) => {
            let (why, wait) = match &error {
                AccessError::BadCredentials => ("credentials", 0),
                AccessError::TooMany { retry_after } => ("too-many", retry_after.as_secs().max(1)),
                _ if wants_page(&headers) => ("unavailable", 5),
                _ => return Problem::from(error).into_response(),
            };
            let query = form_urlencoded::Serializer::new(String::new())
                .append_pair("error", why)
                .append_pair("wait", &wait.to_string())
                .append_pair("next", local_path(&form.next))
                .finish();
            see_other(&format!("sign-in?{query}"), None)
        }
    }
}

/// Sets the new session's cookie. The session that the request came with ends, also for anybody else who has its token.
async fn signed_in(
    state: &AppState,
    headers: &HeaderMap,
    token: &SessionToken,
    location: &str,
    device: Option<Cookie<'static>>,
) -> Response {
    if let Some(before) = session::token_of(headers)
        && let Err(error) = state.headgate.access().sign_out(&before).await
    {
        return Problem::from(error).into_response();
    }
    see_other(location, [Some(session::cookie(headers, token)), device].into_iter().flatten())
}

async fn sign_out(State(state): State<AppState>, headers: HeaderMap) -> Response {
    if let Some(token) = session::token_of(&headers)
        && let Err(error) = state.headgate.access().sign_out(&token).await
    {
        return Problem::from(error).into_response();
    }
    see_other("sign-in", Some(session::no_cookie(&headers)))
}

async fn open_link(
    state: State<AppState>,
    token: Id<String>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    if method == Method::HEAD || is_preview(&headers) {
        return button_page();
    }
    redeem_link(state, token, headers).await
}

async fn redeem_link(State(state): State<AppState>, Id(token): Id<String>, headers: HeaderMap) -> Response {
    match state.headgate.access().redeem_link(&token).await {
        Ok(token) => signed_in(&state, &headers, &token, "../..", None).await,
        // Somebody who is signed in already and opens the link again gets the first page.
        Err(AccessError::BadCredentials) if is_signed_in(&state, &headers).await => see_other("../..", None),
        Err(AccessError::BadCredentials) => see_other("../../sign-in?error=link", None),
        Err(error) => Problem::from(error).into_response(),
    }
}

async fn is_signed_in(state: &AppState, headers: &HeaderMap) -> bool {
    match session::token_of(headers) {
        Some(token) => matches!(state.headgate.access().actor_of_session(&token).await, Ok(Some(_))),
        None => false,
    }
}

/// Whether a program fetches the link for a preview, or a browser prefetches it.
fn is_preview(headers: &HeaderMap) -> bool {
    let is_prefetch = ["sec-purpose", "purpose", "x-moz", "x-purpose"].iter().any(|name| {
        headers.get(*name).is_some_and(|value| {
            let value = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
            value.contains("prefetch") || value.contains("preview")
        })
    });
    let agent = headers
        .get(header::USER_AGENT)
        .map(|agent| String::from_utf8_lossy(agent.as_bytes()).to_ascii_lowercase())
        .unwrap_or_default();
    let is_robot =
        ["bot", "preview", "crawl", "spider", "facebookexternalhit", "whatsapp", "skype", "embedly"]
            .iter()
            .any(|part| agent.contains(part));
    is_prefetch || is_robot
}

fn button_page() -> Response {
    const PAGE: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
        <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
        <meta name=\"robots\" content=\"noindex\"><title>Sign in</title></head>\
        <body><main><h1>Sign in to Headgate</h1>\
        <form method=\"post\"><button>Sign in</button></form></main></body></html>\n";
    let policy = "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, PAGE).into_response()
}

/// A path of this site, never another site: browsers take `//host` and `/\host` for addresses.
fn local_path(next: &str) -> &str {
    let is_local = next.starts_with('/')
        && !next.starts_with("//")
        && !next.contains('\\')
        && next.bytes().all(|b| b.is_ascii_graphic());
    if is_local { next } else { "/" }
}

fn see_other(location: &str, cookies: impl IntoIterator<Item = Cookie<'static>>) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    if let Ok(location) = HeaderValue::from_str(location) {
        headers.insert(header::LOCATION, location);
    }
    for cookie in cookies {
        if let Ok(cookie) = HeaderValue::from_str(&cookie.to_string()) {
            headers.append(header::SET_COOKIE, cookie);
        }
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // The URL of the link is a credential until it is used.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_stay_on_this_site() {
        for (next, to) in [
            ("/jobs?status=failed", "/jobs?status=failed"),
            ("", "/"),
            ("//evil.test", "/"),
            ("/\\evil.test", "/"),
            ("https://evil.test", "/"),
            ("javascript:alert(1)", "/"),
            ("/a\r\nset-cookie: x", "/"),
        ] {
            assert_eq!(local_path(next), to);
        }
    }

    #[test]
    fn previews_and_prefetches_are_recognised() {
        let headers = |name: &'static str, value: &'static str| {
            HeaderMap::from_iter([(header::HeaderName::from_static(name), HeaderValue::from_static(value))])
        };
        assert!(is_preview(&headers("user-agent", "Slackbot-LinkExpanding 1.0")));
        assert!(is_preview(&headers("sec-purpose", "prefetch;prerender")));
        assert!(!is_preview(&headers("user-agent", "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0")));
        assert!(!is_preview(&headers("user-agent", "curl/8.1")));
    }
}
