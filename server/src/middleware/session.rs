//! A cookie becomes an actor.
//!
//! The cookie is `__Host-headgate` over https and `headgate` over plain http, where browsers refuse the prefix; never both are read.
//! A request speaks with one credential: where an `Authorization` header stands, the cookie is not looked at.

use super::security_headers::is_https;
use crate::api::problem::Problem;
use access::{Access, SessionToken};
use app::server::actor::SessionUnknown;
use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use axum_extra::extract::cookie::{Cookie, CookieJar, SameSite};
use model::actor::Actor;

const OVER_HTTPS: &str = "__Host-headgate";
const OVER_HTTP: &str = "headgate";

/// Marks a request whose actor came from a cookie: it must prove that one of our own pages made it.
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
        // The console has its own page for that.
        Err(error) => {
            tracing::warn!(%error, "a session could not be looked up");
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
        // Whatever a person may see, nobody else's cache should keep.
        response.headers_mut().entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    }
    response
}

/// The session's token, as the cookie of this connection carries it.
pub fn token_of(headers: &HeaderMap) -> Option<String> {
    let jar = CookieJar::from_headers(headers);
    jar.get(name(headers)).map(|cookie| cookie.value().to_owned()).filter(|token| !token.is_empty())
}

/// The cookie of a new session: until the browser closes, or the session is over.
pub fn cookie(headers: &HeaderMap, token: &SessionToken) -> Cookie<'static> {
    let mut cookie = Cookie::new(name(headers), token.expose().to_owned());
    cookie.set_path("/");
    cookie.set_http_only(true);
    cookie.set_same_site(SameSite::Lax);
    cookie.set_secure(is_https(headers));
    cookie
}

/// The cookie that takes the session's cookie away.
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
