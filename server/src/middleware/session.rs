//! Authenticates the session cookie.
//!
//! The cookie is `__Host-headgate` over https and `headgate` over plain http, where browsers refuse the prefix; only one of them is read.
//! A request uses one credential: with an `Authorization` header the cookie is ignored.

use super::security_headers::is_https;
use crate::api::problem::Problem;
use app::server::actor::SessionUnknown;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum_extra::extract::cookie::{Cookie, CookieJar, SameSite};
use model::actor::Actor;
use service::{Access, SessionToken};

const OVER_HTTPS: &str = "__Host-headgate";
const OVER_HTTP: &str = "headgate";

/// Marks a request whose actor comes from a cookie: its writes must come from our own pages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BySession;

pub(crate) async fn authenticate_session(
    State(access): State<Access>,
    mut request: Request,
    next: Next,
) -> Response {
    if request.headers().contains_key(header::AUTHORIZATION) {
        return next.run(request).await;
    }
    let Some(token) = token_of(request.headers()) else { return next.run(request).await };
    let is_api = request.uri().path().contains("/api/");
    let actor = match access.actor_of_session(&token).await {
        Ok(actor) => actor,
        Err(error) if is_api => return Problem::from(error).into_response(),
        // The console has its own page for this.
        Err(error) => {
            tracing::warn!(error = %model::text::causes(&error), "a session could not be looked up");
            request.extensions_mut().insert(SessionUnknown);
            None
        }
    };
    let is_known = actor.is_some();
    if let Some(actor) = actor {
        request.extensions_mut().insert::<Actor>(actor);
        request.extensions_mut().insert(BySession);
    }
    let mut response = next.run(request).await;
    if is_known {
        // What a signed-in user sees must not be kept in a shared cache.
        response.headers_mut().entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    }
    response
}

/// The session's token from the cookie for this kind of connection.
pub fn token_of(headers: &HeaderMap) -> Option<String> {
    let jar = CookieJar::from_headers(headers);
    jar.get(name(headers)).map(|cookie| cookie.value().to_owned()).filter(|token| !token.is_empty())
}

/// The cookie of a new session, valid until the browser is closed or the session ends.
pub fn cookie(headers: &HeaderMap, token: &SessionToken) -> Cookie<'static> {
    let mut cookie = Cookie::new(name(headers), token.expose().to_owned());
    cookie.set_path("/");
    cookie.set_http_only(true);
    cookie.set_same_site(SameSite::Lax);
    cookie.set_secure(is_https(headers));
    cookie
}

/// The cookie that removes the session's cookie.
pub fn no_cookie(headers: &HeaderMap) -> Cookie<'static> {
    let mut cookie = Cookie::new(name(headers), "");
    cookie.set_path("/");
    cookie.set_secure(is_https(headers));
    cookie.make_removal();
    cookie
}

fn name(headers: &HeaderMap) -> &'static str {
    if is_https(headers) { OVER_HTTPS } else { OVER_HTTP }
}
