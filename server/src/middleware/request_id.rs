//! Every request has an id: the client's if it is valid, else a new one. It is in the answer, in the log and in the audit log.

use super::client_address::{ClientAddress, TrustedProxies};
use access::{Origin, origin::from_origin};
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use std::borrow::Cow;
use tracing::Instrument;
use uuid::Uuid;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

#[derive(Clone, Debug)]
pub struct RequestId(pub String);

/// The URL of a sign-in link is a credential until it is used, so it must not be logged or traced.
fn without_token(path: &str) -> Cow<'_, str> {
    const LINK: &str = "/sign-in/link/";
    match path.find(LINK) {
        Some(at) => Cow::Owned(format!("{}{{token}}", &path[..at + LINK.len()])),
        None => Cow::Borrowed(path),
    }
}

pub(crate) async fn with_request_id(
    State(proxies): State<TrustedProxies>,
    mut request: Request,
    next: Next,
) -> Response {
    let id = request
        .headers()
        .get(X_REQUEST_ID)
        .and_then(|value| value.to_str().ok())
        .filter(|id| (1..=128).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic()))
        .map_or_else(|| Uuid::now_v7().to_string(), str::to_owned);
    let address = ClientAddress::of(&mut request, &proxies);
    let path = without_token(request.uri().path());
    let span = tracing::info_span!("request", request.id = %id, method = %request.method(), path = %path);
    let origin = Origin { address: Some(address.0), request_id: Some(id.clone()), follows: None };
    request.extensions_mut().insert(address);
    request.extensions_mut().insert(RequestId(id.clone()));
    let mut response = from_origin(origin, next.run(request)).instrument(span).await;
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(X_REQUEST_ID, value);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_logged_without_the_token_of_a_sign_in_link() {
        for (path, logged) in [
            ("/sign-in/link/s3cret", "/sign-in/link/{token}"),
            ("/gate/sign-in/link/s3cret/x", "/gate/sign-in/link/{token}"),
            ("/sign-in", "/sign-in"),
            ("/api/v1/jobs", "/api/v1/jobs"),
        ] {
            assert_eq!(without_token(path), logged);
        }
    }
}
