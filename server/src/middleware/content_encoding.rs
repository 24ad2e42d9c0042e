//! Compressed bodies: gzip and zstd are unpacked while they are read, so that every limit is one of what comes out. Other encodings are 415.
//!
//! What comes in is limited as well, before it gets here: there are endless bodies of which nothing comes out. For the same reason a body is one
//! gzip member or zstd frame: an empty one is twenty bytes, and costs what it takes to begin anew.

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
use futures::{TryStreamExt as _, stream};
use std::{io, pin::Pin};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _};
use tokio_util::io::StreamReader;

/// 8 MB: what RFC 9659 lets a body on the web ask for. The frame of a bomb asks for 128.
const ZSTD_WINDOW_LOG: u32 = 23;

/// What is unpacked at a time.
const PART_BYTES: usize = 16_000;

enum Encoding {
    Identity,
    Gzip,
    Zstd,
}

type Compressed = Pin<Box<dyn AsyncBufRead + Send>>;

pub(crate) async fn decompress(mut request: Request, next: Next) -> Response {
    let encoding = match encoding(request.headers()) {
        Some(Encoding::Identity) => return next.run(request).await,
        Some(encoding) => encoding,
        None => return Problem::unsupported_encoding().into_response(),
    };
    // Both are of what came over the wire.
    request.headers_mut().remove(header::CONTENT_ENCODING);
    request.headers_mut().remove(header::CONTENT_LENGTH);
    next.run(request.map(|body| {
        let compressed: Compressed =
            Box::pin(StreamReader::new(body.into_data_stream().map_err(io::Error::other)));
        if matches!(encoding, Encoding::Gzip) {
            return single_member(GzipDecoder::new(compressed), GzipDecoder::get_mut);
        }
        let window = [DParameter::window_log_max(ZSTD_WINDOW_LOG)];
        single_member(ZstdDecoder::with_params(compressed, &window), ZstdDecoder::get_mut)
    }))
    .await
}

/// What the decoder makes of one member; an error if there is more.
fn single_member<D: AsyncRead + Unpin + Send + 'static>(
    decoder: D,
    compressed: impl Fn(&mut D) -> &mut Compressed + Copy + Send + 'static,
) -> Body {
    Body::from_stream(stream::try_unfold(decoder, move |mut decoder| async move {
        let mut part = Vec::with_capacity(PART_BYTES);
        if decoder.read_buf(&mut part).await? > 0 {
            return Ok(Some((part, decoder)));
        }
        if compressed(&mut decoder).fill_buf().await?.is_empty() {
            return Ok(None);
        }
        Err(io::Error::other("there is more than one member"))
    }))
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
