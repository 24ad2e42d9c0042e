//! An external system: answers as configured and returns every request to the test.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use tokio::sync::{Mutex as AsyncMutex, Notify, mpsc};

/// One request, as it came.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Received {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no {name}")).to_str().unwrap()
    }
}

/// How it answers.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Status(u16),
    With(u16, Vec<(&'static str, String)>, String),
    /// Never.
    Hang,
    /// 200, once notified.
    When(Arc<Notify>),
    /// 503, once notified.
    FailWhen(Arc<Notify>),
    /// 400, once notified.
    RefuseWhen(Arc<Notify>),
    /// 400 to a body that contains this text, 200 to any other.
    RefuseWith(&'static str),
}

#[derive(Clone)]
struct Shared {
    replies: Arc<Mutex<VecDeque<Reply>>>,
    default_reply: Arc<Mutex<Reply>>,
    received: mpsc::UnboundedSender<Received>,
    concurrency: Arc<Concurrency>,
}

/// Counts the requests that are being answered.
#[derive(Default)]
struct Concurrency {
    now: AtomicUsize,
    max: AtomicUsize,
}

/// Counts one request until it is answered, or its connection dropped.
struct Answering(Arc<Concurrency>);

impl Answering {
    fn begin(concurrency: &Arc<Concurrency>) -> Self {
        let now = concurrency.now.fetch_add(1, Ordering::SeqCst) + 1;
        concurrency.max.fetch_max(now, Ordering::SeqCst);
        Self(Arc::clone(concurrency))
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

pub(crate) struct Receiver {
    pub(crate) url: String,
    shared: Shared,
    received: AsyncMutex<mpsc::UnboundedReceiver<Received>>,
}

impl Receiver {
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, received) = mpsc::unbounded_channel();
        let shared = Shared {
            replies: Arc::default(),
            default_reply: Arc::new(Mutex::new(Reply::Status(200))),
            received: sender,
            concurrency: Arc::default(),
        };
        let router = Router::new().fallback(take).with_state(shared.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, shared, received: AsyncMutex::new(received) }
    }

    /// Replies to the next requests, one by one; then the default reply again.
    pub(crate) fn replies(&self, replies: impl IntoIterator<Item = Reply>) {
        self.shared.replies.lock().unwrap().extend(replies);
    }

    /// Sets the default reply.
    pub(crate) fn answers(&self, reply: Reply) {
        *self.shared.default_reply.lock().unwrap() = reply;
    }

    pub(crate) async fn next(&self) -> Received {
        let next = async { self.received.lock().await.recv().await.unwrap() };
        tokio::time::timeout(Duration::from_secs(15), next).await.expect("no request came")
    }

    /// The largest number of concurrent requests so far.
    pub(crate) fn max_concurrent(&self) -> usize {
        self.shared.concurrency.max.load(Ordering::SeqCst)
    }

    /// All requests that came and were not read yet.
    pub(crate) async fn rest(&self) -> Vec<Received> {
        let mut received = self.received.lock().await;
        std::iter::from_fn(|| received.try_recv().ok()).collect()
    }
}

async fn take(
    State(shared): State<Shared>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let _answering = Answering::begin(&shared.concurrency);
    let path = uri.path_and_query().map_or_else(String::new, ToString::to_string);
    let text = String::from_utf8_lossy(&body).into_owned();
    shared.received.send(Received { method, path, headers, body }).unwrap();
    let reply = shared.replies.lock().unwrap().pop_front();
    let reply = reply.unwrap_or_else(|| shared.default_reply.lock().unwrap().clone());
    match reply {
        Reply::Status(status) => StatusCode::from_u16(status).unwrap().into_response(),
        Reply::With(status, headers, body) => {
            let mut response = (StatusCode::from_u16(status).unwrap(), body).into_response();
            for (name, value) in headers {
                response.headers_mut().insert(name, value.parse().unwrap());
            }
            response
        }
        Reply::RefuseWith(bad) if text.contains(bad) => StatusCode::BAD_REQUEST.into_response(),
        Reply::RefuseWith(_) => StatusCode::OK.into_response(),
        Reply::Hang => std::future::pending().await,
        Reply::FailWhen(proceed) => {
            proceed.notified().await;
            StatusCode::SERVICE_UNAVAILABLE.into_response()
        }
        Reply::RefuseWhen(proceed) => {
            proceed.notified().await;
            StatusCode::BAD_REQUEST.into_response()
        }
        Reply::When(proceed) => {
            proceed.notified().await;
            StatusCode::OK.into_response()
        }
    }
}
