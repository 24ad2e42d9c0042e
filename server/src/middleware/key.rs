//! Authenticates the API key of an `Authorization: Bearer` header. An invalid key is 401, whatever else the request has.

use crate::api::problem::Problem;
use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use model::actor::Actor;
use service::Access;

pub(crate) async fn authenticate_key(
    State(access): State<Access>,
    mut request: Request,
    next: Next,
) -> Response {
    let Some(header) = request.headers().get(header::AUTHORIZATION) else { return next.run(request).await };
    let key = header.to_str().ok().and_then(|value| {
        let (scheme, key) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim().to_owned())
    });
    let Some(key) = key else {
        return Problem::unauthorized("The header authorization must be `Bearer KEY`.").into_response();
    };
    match access.actor_of_key(&key).await {
        Ok(Some(actor)) => {
            request.extensions_mut().insert::<Actor>(actor);
            next.run(request).await
        }
        Ok(None) => Problem::unauthorized("The key is unknown, has expired or was revoked.").into_response(),
        Err(error) => Problem::from(error).into_response(),
    }
}
