//! No request is larger than 16 MB.
//!
//! A body whose announced length is too large is refused at once. Most clients write their whole body before they read an answer, and
//! see a broken connection instead of a 413 when nobody reads; so the rest is read and thrown away, up to a point.

use crate::api::problem::Problem;
use axum::{
    body::Body,
    extract::{DefaultBodyLimit, Request},
    http::header,
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures::StreamExt;
use model::json::MAX_REQUEST_BYTES;
use std::time::Duration;

/// What is read and thrown away at most.
const PATIENCE_BYTES: usize = 4 * MAX_REQUEST_BYTES;
/// And for how long.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) async fn at_most_16_mb(mut request: Request, next: Next) -> Response {
    let announced = request
        .headers()
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse::<usize>().ok())
        .unwrap_or(0);
    if announced > MAX_REQUEST_BYTES {
        // Who asks first has not begun to write.
        if !request.headers().contains_key(header::EXPECT) && announced <= PATIENCE_BYTES {
            let _ = tokio::time::timeout(PATIENCE, throw_away(request.into_body())).await;
        }
        return Problem::too_large("A request may have 16 MB.", Vec::new()).into_response();
    }
    // For extractors of axum and the console; our own count for themselves.
    DefaultBodyLimit::max(MAX_REQUEST_BYTES).apply(&mut request);
    next.run(request).await
}

async fn throw_away(body: Body) {
    let mut stream = body.into_data_stream();
    while let Some(Ok(_)) = stream.next().await {}
}
