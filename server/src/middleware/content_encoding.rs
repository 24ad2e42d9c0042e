//! Compressed bodies: gzip and zstd are unpacked while they are read, so that every limit is one of what comes out. Other encodings are 415.

use crate::api::problem::Problem;
use async_compression::{
    tokio::bufread::{GzipDecoder, ZstdDecoder},
    zstd::DParameter,
};
use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures::TryStreamExt as _;
use std::io;
use tokio_util::io::{ReaderStream, StreamReader};

/// 8 MB: what RFC 9659 lets a body on the web ask for. The frame of a bomb asks for 128.
const ZSTD_WINDOW_LOG: u32 = 23;

enum Encoding {
    Identity,
    Gzip,
    Zstd,
}

pub(crate) async fn unpacked(mut request: Request, next: Next) -> Response {
    let body = match encoding(request.headers()) {
        Some(Encoding::Identity) => return next.run(request).await,
        Some(Encoding::Gzip) => {
            let mut decoder = GzipDecoder::new(reader(std::mem::take(request.body_mut())));
            decoder.multiple_members(true);
            Body::from_stream(ReaderStream::new(decoder))
        }
        Some(Encoding::Zstd) => {
            let window = [DParameter::window_log_max(ZSTD_WINDOW_LOG)];
            let mut decoder = ZstdDecoder::with_params(reader(std::mem::take(request.body_mut())), &window);
            decoder.multiple_members(true);
            Body::from_stream(ReaderStream::new(decoder))
        }
        None => return Problem::unsupported_encoding().into_response(),
    };
    *request.body_mut() = body;
    // Both are of what came over the wire.
    request.headers_mut().remove(header::CONTENT_ENCODING);
    request.headers_mut().remove(header::CONTENT_LENGTH);
    next.run(request).await
}

/// None: one that is not known, or several.
fn encoding(headers: &HeaderMap) -> Option<Encoding> {
    let mut given = headers.get_all(header::CONTENT_ENCODING).iter();
    let Some(first) = given.next() else { return Some(Encoding::Identity) };
    let name = first.to_str().ok().filter(|_| given.next().is_none())?;
    match name.trim().to_ascii_lowercase().as_str() {
        "" | "identity" => Some(Encoding::Identity),
        "gzip" | "x-gzip" => Some(Encoding::Gzip),
        "zstd" => Some(Encoding::Zstd),
        _ => None,
    }
}

fn reader(body: Body) -> impl tokio::io::AsyncBufRead + Unpin + Send {
    StreamReader::new(body.into_data_stream().map_err(io::Error::other))
}
