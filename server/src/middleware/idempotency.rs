//! `Idempotency-Key` on every POST of the API: the same call twice is done once, and answers twice.
//!
//! A layer and no extractor, so that no POST can forget it. The body is read here and handed on. Answers are kept sealed with the master
//! key: some hold a secret that is shown once.

use crate::{
    api::{extract::read_body, problem::Problem},
    state::AppState,
};
use access::idempotency::{Call, Turn, answer, begin, release};
use axum::{
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use delivery::secrets::Place;
use model::actor::Actor;
use sha2::{Digest, Sha256};
use uuid::Uuid;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

pub(crate) async fn idempotent(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let actor = request.extensions().get::<Actor>().cloned();
    let key = request.headers().get(IDEMPOTENCY_KEY).cloned();
    let (Some(actor), Some(key), &Method::POST) = (actor, key, request.method()) else {
        return next.run(request).await;
    };
    work(&state, &actor, &key, request, next).await.unwrap_or_else(IntoResponse::into_response)
}

async fn work(
    state: &AppState,
    actor: &Actor,
    key: &HeaderValue,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let key = key
        .to_str()
        .ok()
        .filter(|key| (1..=255).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_graphic()))
        .ok_or_else(|| Problem::fault("Idempotency-Key", "must be 1 to 255 visible ASCII characters"))?;
    let path = request.uri().path_and_query().map_or_else(String::new, ToString::to_string);
    let call = Call { owner: actor.owner(), method: "POST".to_owned(), path, key: key.to_owned() };
    let (parts, body) = request.into_parts();
    let body = read_body(Request::from_parts(parts.clone(), body)).await?;
    match begin(&state.pool, &call, &body).await? {
        Turn::First => {}
        Turn::Done { status, answer } => return replay(state, &call, status, answer),
        Turn::InProgress => {
            return Err(Problem::conflict(
                "in-progress",
                "The same call is being worked on: ask again in a moment.",
            ));
        }
        Turn::OtherBody => {
            return Err(Problem::fault("Idempotency-Key", "was used for this path with another body"));
        }
    }
    let response = next.run(Request::from_parts(parts, Body::from(body))).await;
    Ok(keep(state, &call, response).await)
}

/// Keeps an answer that did something; after any other the call may be made again. The work is done by now, so a failure to keep its
/// answer is logged and not answered with.
async fn keep(state: &AppState, call: &Call, response: Response) -> Response {
    if !response.status().is_success() {
        if let Err(error) = release(&state.pool, call).await {
            tracing::warn!(%error, "an idempotency key could not be released");
        }
        return response;
    }
    let (parts, body) = response.into_parts();
    // Answers of POSTs are made in memory and small.
    let Ok(body) = to_bytes(body, usize::MAX).await else { return Problem::internal().into_response() };
    let sealed = state.master_key.seal(place(call), &body).ok();
    let status = i16::try_from(parts.status.as_u16()).unwrap_or(200);
    if let Err(error) = answer(&state.pool, call, status, sealed.as_deref()).await {
        tracing::warn!(%error, "the answer to a call with an idempotency key could not be kept");
    }
    Response::from_parts(parts, Body::from(body))
}

fn replay(state: &AppState, call: &Call, status: i16, answer: Option<Vec<u8>>) -> Result<Response, Problem> {
    let body = answer
        .and_then(|sealed| state.master_key.open(place(call), &sealed).ok())
        .ok_or_else(|| Problem::conflict("done-already", "The call was done; its answer was not kept."))?;
    let status =
        u16::try_from(status).ok().and_then(|code| StatusCode::from_u16(code).ok()).unwrap_or(StatusCode::OK);
    let mut response = (status, body.into_exposed()).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(REPLAYED, HeaderValue::from_static("true"));
    Ok(response)
}

/// An answer opens for its own call alone.
fn place(call: &Call) -> Place {
    let mut hasher = Sha256::new();
    for part in [&call.owner, &call.method, &call.path, &call.key] {
        hasher.update(part.len().to_le_bytes());
        hasher.update(part);
    }
    let digest: [u8; 32] = hasher.finalize().into();
    let mut id = [0; 16];
    id.copy_from_slice(&digest[..16]);
    Place { table: "idempotency_keys", row: Uuid::from_bytes(id), column: "answer" }
}
