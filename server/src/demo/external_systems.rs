//! The external systems of the demo, behind a listener of their own on the loopback interface.

use super::behaviour::{System, SystemState, decide};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// All systems, behind one address.
#[derive(Clone, Debug)]
pub(super) struct ExternalSystems {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    started: Instant,
    states: Mutex<HashMap<System, SystemState>>,
    stop: CancellationToken,
}

impl ExternalSystems {
    /// Listens on a free port until `stop`.
    pub(super) async fn start(stop: CancellationToken) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let shared =
            Arc::new(Shared { started: Instant::now(), states: Mutex::default(), stop: stop.clone() });
        let router = Router::new().route("/{system}", any(receive)).with_state(Arc::clone(&shared));
        tokio::spawn(async move {
            if let Err(error) =
                axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await
            {
                tracing::warn!("the demo's external systems ended: {error}");
            }
        });
        Ok(Self { address, shared })
    }

    pub(super) fn url(&self, system: System) -> String {
        format!("http://{}/{}", self.address, system.path())
    }

    pub(super) fn is_gone(&self) -> bool {
        self.shared.with(System::Gone, |state| state.is_gone())
    }

    pub(super) fn reopen(&self) {
        self.shared.with(System::Gone, SystemState::reopen);
    }
}

impl Shared {
    fn with<T>(&self, system: System, change: impl FnOnce(&mut SystemState) -> T) -> T {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        change(states.entry(system).or_default())
    }
}

async fn receive(State(shared): State<Arc<Shared>>, Path(path): Path<String>, body: Bytes) -> Response {
    let Some(system) = System::of_path(&path) else { return StatusCode::NOT_FOUND.into_response() };
    let record_id = record_id(&body).unwrap_or_default();
    let since_start = shared.started.elapsed();
    let answer = shared.with(system, |state| decide(system, state, since_start, rand::random(), &record_id));
    tokio::select! {
        () = tokio::time::sleep(answer.after) => {}
        () = shared.stop.cancelled() => {}
    }
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(seconds) = answer.retry_after {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    (status, headers, answer.body).into_response()
}

fn record_id(body: &[u8]) -> Option<String> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    Some(body.get("record")?.get("id")?.as_str()?.to_owned())
}
