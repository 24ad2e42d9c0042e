//! An external system: answers as told and hands over every request.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, Method, StatusCode, Uri},
    response::{IntoResponse, Response},
};
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
    /// 200, once told to.
    When(Arc<Notify>),
    /// 503, once told to.
    FailWhen(Arc<Notify>),
    /// 400, once told to.
    RefuseWhen(Arc<Notify>),
    /// 400 to a body that holds this text, 200 to any other.
    RefuseWith(&'static str),
}

#[derive(Clone)]
struct Shared {
    replies: Arc<Mutex<VecDeque<Reply>>>,
    otherwise: Arc<Mutex<Reply>>,
    received: mpsc::UnboundedSender<Received>,
    at_once: Arc<AtOnce>,
}

/// Requests that are being answered.
#[derive(Default)]
struct AtOnce {
    now: AtomicUsize,
    most: AtomicUsize,
}

/// Ends when the answer is given, or the connection dropped.
struct Answering(Arc<AtOnce>);

impl Answering {
    fn begin(at_once: &Arc<AtOnce>) -> Self {
        let now = at_once.now.fetch_add(1, Ordering::SeqCst) + 1;
        at_once.most.fetch_max(now, Ordering::SeqCst);
        Self(Arc::clone(at_once))
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
            otherwise: Arc::new(Mutex::new(Reply::Status(200))),
            received: sender,
            at_once: Arc::default(),
        };
        let router = Router::new().fallback(take).with_state(shared.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, shared, received: AsyncMutex::new(received) }
    }

    /// The next requests are answered so, one by one; then 200 again.
    pub(crate) fn replies(&self, replies: impl IntoIterator<Item = Reply>) {
        self.shared.replies.lock().unwrap().extend(replies);
    }

    /// Every request without a reply of its own is answered so.
    pub(crate) fn answers(&self, reply: Reply) {
        *self.shared.otherwise.lock().unwrap() = reply;
    }

    pub(crate) async fn next(&self) -> Received {
        let next = async { self.received.lock().await.recv().await.unwrap() };
        tokio::time::timeout(Duration::from_secs(15), next).await.expect("no request came")
    }

    /// The most requests there were at once.
    pub(crate) fn most_at_once(&self) -> usize {
        self.shared.at_once.most.load(Ordering::SeqCst)
    }

    /// Everything that came and was not looked at.
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
    let _answering = Answering::begin(&shared.at_once);
    let path = uri.path_and_query().map_or_else(String::new, ToString::to_string);
    let text = String::from_utf8_lossy(&body).into_owned();
    shared.received.send(Received { method, path, headers, body }).unwrap();
    let reply = shared.replies.lock().unwrap().pop_front();
    let reply = reply.unwrap_or_else(|| shared.otherwise.lock().unwrap().clone());
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
        Reply::FailWhen(told) => {
            told.notified().await;
            StatusCode::SERVICE_UNAVAILABLE.into_response()
        }
        Reply::RefuseWhen(told) => {
            told.notified().await;
            StatusCode::BAD_REQUEST.into_response()
        }
        Reply::When(told) => {
            told.notified().await;
            StatusCode::OK.into_response()
        }
    }
}
