//! Compressed bodies: gzip and zstd are decompressed while they are read, so that every limit applies to the decompressed size. Other encodings
//! are 415.
//!
//! The compressed size is limited as well, by an outer layer, because an endless body may decompress to nothing. For the same reason a body has
//! only one gzip member or zstd frame: an empty one has twenty bytes, but costs the setup of a decoder.

use crate::api::problem::Problem;
use async_compression::tokio::bufread::{GzipDecoder, ZstdDecoder};
use async_compression::zstd::DParameter;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::{TryStreamExt as _, stream};
use std::{io, pin::Pin};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _};
use tokio_util::io::StreamReader;

/// 8 MB, the limit of RFC 9659 for the web. The frame of a decompression bomb may ask for 128.
const ZSTD_WINDOW_LOG: u32 = 23;

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
    // Both describe the compressed body.
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

/// The decompressed member; an error if another one follows.
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

/// `None` for an unknown encoding, or several.
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
