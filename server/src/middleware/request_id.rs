//! Every request has an id: the caller's, when it is a sane one, else a new one. It is in the answer, in the log and in the audit log.

use super::client_address::ClientAddress;
use crate::state::AppState;
use access::{Origin, origin::from_origin};
use axum::{
    extract::{Request, State},
    http::{HeaderName, HeaderValue},
    middleware::Next,
    response::Response,
};
use tracing::Instrument;
use uuid::Uuid;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The id of the request being worked on.
#[derive(Clone, Debug)]
pub struct RequestId(pub String);

pub(crate) async fn with_request_id(
    State(state): State<AppState>,
    mut request: Request,
    next: Next,
) -> Response {
    let id = request
        .headers()
        .get(X_REQUEST_ID)
        .and_then(|value| value.to_str().ok())
        .filter(|id| (1..=128).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic()))
        .map_or_else(|| Uuid::now_v7().to_string(), str::to_owned);
    let address = ClientAddress::of(&mut request, &state.settings.trusted_proxies);
    let span = tracing::info_span!("request", request.id = %id, method = %request.method(), path = request.uri().path());
    let origin = Origin { address: Some(address.0), request_id: Some(id.clone()), follows: None };
    request.extensions_mut().insert(address);
    request.extensions_mut().insert(RequestId(id.clone()));
    let mut response = from_origin(origin, next.run(request)).instrument(span).await;
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(X_REQUEST_ID, value);
    }
    response
}
