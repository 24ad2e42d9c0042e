//! Bounds the body as the client sends it: a minimum rate, and 16 MB.
//!
//! Most clients write their whole body before they read an answer, and see a broken connection instead of a refusal if the server stops reading.
//! So what a handler leaves unread is read and discarded while the answer is sent, up to a limit.

use super::request_memory::RequestMemory;
use crate::api::problem::Problem;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::StreamExt as _;
use http_body::{Frame, SizeHint};
use http_body_util::Limited;
use model::json::MAX_REQUEST_BYTES;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::{Instant, Sleep, sleep};

const MAX_DISCARDED_BYTES: usize = 4 * MAX_REQUEST_BYTES;

/// How slow a body may arrive.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The total time spent waiting for a body may always have this length.
    pub grace: Duration,
    /// Each such number of bytes that arrives adds a second to it.
    pub bytes_per_second: u32,
}

impl Default for Pace {
    fn default() -> Self {
        Self { grace: Duration::from_secs(10), bytes_per_second: 32_000 }
    }
}

impl Pace {
    fn time_for(self, bytes: usize) -> Duration {
        Duration::from_secs_f64(bytes as f64 / f64::from(self.bytes_per_second))
    }
}

#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the body arrived too slowly")]
pub(crate) struct TooSlow;

pub(crate) async fn limit_body(
    State((pace, memory)): State<(Pace, RequestMemory)>,
    request: Request,
    next: Next,
) -> Response {
    let content_length = content_length(request.headers());
    let may_begin_late = request.headers().contains_key(header::EXPECT);
    let mut request = request.map(|body| match body.is_end_stream() {
        true => body,
        false => Body::new(Limited::new(ClientBody::new(body, pace, may_begin_late), MAX_REQUEST_BYTES)),
    });
    if content_length > MAX_REQUEST_BYTES {
        return Problem::too_long().into_response();
    }
    // For axum's and the console's extractors; our own check the limit themselves.
    DefaultBodyLimit::max(MAX_REQUEST_BYTES).apply(&mut request);
    let share = Arc::new(memory.share());
    request.extensions_mut().insert(Arc::clone(&share));
    let response = next.run(request).await;
    // What the handler made of the body is freed by now.
    drop(share);
    response
}

/// The `content-length` of a request, 0 without one.
pub(crate) fn content_length(headers: &HeaderMap) -> usize {
    headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok()).unwrap_or(0)
}

struct ClientBody {
    inner: Body,
    pace: Pace,
    /// The waiting time that is left.
    allowance: Duration,
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
    /// False until the first read if the client sent `Expect: 100-continue`: it sends nothing before that.
    is_awaited: bool,
    has_ended: bool,
}

impl ClientBody {
    fn new(inner: Body, pace: Pace, may_begin_late: bool) -> Self {
        Self {
            inner,
            pace,
            allowance: pace.grace,
            waiting: None,
            is_awaited: !may_begin_late,
            has_ended: false,
        }
    }
}

impl HttpBody for ClientBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        this.is_awaited = true;
        let Poll::Ready(frame) = Pin::new(&mut this.inner).poll_frame(cx) else {
            let allowance = this.allowance;
            let (_, wait) = this.waiting.get_or_insert_with(|| (Instant::now(), Box::pin(sleep(allowance))));
            ready!(wait.as_mut().poll(cx));
            this.has_ended = true;
            return Poll::Ready(Some(Err(axum::Error::new(TooSlow))));
        };
        if let Some((since, _)) = this.waiting.take() {
            this.allowance = this.allowance.saturating_sub(since.elapsed());
        }
        match &frame {
            Some(Ok(frame)) => {
                let bytes = frame.data_ref().map_or(0, Bytes::len);
                this.allowance = this.allowance.saturating_add(this.pace.time_for(bytes));
            }
            Some(Err(_)) | None => this.has_ended = true,
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for ClientBody {
    fn drop(&mut self) {
        if self.has_ended || !self.is_awaited || self.inner.is_end_stream() {
            return;
        }
        let rest = Self {
            inner: std::mem::take(&mut self.inner),
            waiting: None,
            // So that dropping it does not discard once more.
            has_ended: true,
            ..*self
        };
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(discard(rest));
        }
    }
}

async fn discard(body: ClientBody) {
    let mut stream = Body::new(body).into_data_stream();
    let mut left = MAX_DISCARDED_BYTES;
    while let Some(Ok(bytes)) = stream.next().await {
        let Some(rest) = left.checked_sub(bytes.len()) else { break };
        left = rest;
    }
}
