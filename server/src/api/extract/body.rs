//! Reads a body into memory that is reserved for it.

use crate::api::problem::Problem;
use crate::middleware::client_body::{TooSlow, content_length};
use crate::middleware::request_memory::{RequestMemory, Share};
use axum::body::{Body, Bytes};
use axum::extract::Request;
use futures::StreamExt as _;
use http_body_util::LengthLimitError;
use model::json::MAX_REQUEST_BYTES;
use std::{error::Error, iter, sync::Arc};

/// Memory that the maps made of a form take, for each byte of the form. No name or value is so small that it takes more.
const FORM_BYTES_PER_BYTE: usize = 30;

/// Reads the whole body.
///
/// # Errors
/// 413 beyond 16 MB, 408 when it came too slowly, 400 when it was cut off, 503 while other requests use the memory.
pub async fn read_body(request: Request) -> Result<Bytes, Problem> {
    let share = share(&request);
    let length = content_length(request.headers()).min(MAX_REQUEST_BYTES);
    let has_room = |bytes| if share.grow_to(bytes) { Ok(()) } else { Err(Problem::no_room()) };
    has_room(length)?;
    let mut body = Vec::with_capacity(length);
    let mut stream = request.into_body().into_data_stream();
    while let Some(part) = stream.next().await {
        let part = part.map_err(|error| read_problem(&error))?;
        if body.len() + part.len() > MAX_REQUEST_BYTES {
            return Err(Problem::too_long());
        }
        has_room(body.len() + part.len())?;
        body.extend_from_slice(&part);
    }
    Ok(body.into())
}

/// Reads the body as a form, with memory reserved for what it becomes; returns the request with its body as well.
///
/// # Errors
/// As [`read_body`].
pub async fn read_form(request: Request) -> Result<(Request, Bytes), Problem> {
    let share = share(&request);
    let (parts, body) = request.into_parts();
    let body = read_body(Request::from_parts(parts.clone(), body)).await?;
    if !share.grow_to(body.len() * FORM_BYTES_PER_BYTE) {
        return Err(Problem::no_room());
    }
    Ok((Request::from_parts(parts, Body::from(body.clone())), body))
}

/// The request's share of the memory for all requests; in tests without the layer that sets it, a share of its own.
pub(super) fn share(request: &Request) -> Arc<Share> {
    request.extensions().get().cloned().unwrap_or_else(|| Arc::new(RequestMemory::default().share()))
}

/// Why a body could not be read to its end.
pub(super) fn read_problem(error: &(dyn Error + 'static)) -> Problem {
    let causes = || iter::successors(Some(error), |cause: &&(dyn Error + 'static)| (*cause).source());
    if causes().any(|cause| cause.is::<TooSlow>()) {
        Problem::too_slow()
    } else if causes().any(|cause| cause.is::<LengthLimitError>()) {
        Problem::too_long()
    } else {
        Problem::malformed(
            "The body was cut off, or is not what content-encoding says: one gzip member or zstd frame.",
        )
    }
}
