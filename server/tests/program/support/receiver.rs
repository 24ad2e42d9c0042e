//! An external system that builds its copy of the catalog only from what it is sent.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behaviour {
    AlwaysOk,
    /// Answers 503 to every n-th request.
    FailsOneIn(u64),
}

#[derive(Clone)]
pub(crate) struct Receiver {
    pub(crate) url: String,
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    behaviour: Behaviour,
    requests: u64,
    copy: BTreeMap<String, Map<String, Value>>,
    bodies: Vec<Value>,
    timestamps: Vec<String>,
}

impl Receiver {
    pub(crate) async fn start(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let inner = Inner {
            behaviour,
            requests: 0,
            copy: BTreeMap::new(),
            bodies: Vec::new(),
            timestamps: Vec::new(),
        };
        let inner = Arc::new(Mutex::new(inner));
        let router = Router::new().route("/hook", post(receive)).with_state(Arc::clone(&inner));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, inner }
    }

    /// Its copy: attributes by record id.
    pub(crate) fn copy(&self) -> BTreeMap<String, Map<String, Value>> {
        self.inner.lock().unwrap().copy.clone()
    }

    /// The bodies accepted since the last call.
    pub(crate) fn take_bodies(&self) -> Vec<Value> {
        std::mem::take(&mut self.inner.lock().unwrap().bodies)
    }

    /// The `webhook-timestamp` of each request.
    pub(crate) fn timestamps(&self) -> Vec<String> {
        self.inner.lock().unwrap().timestamps.clone()
    }

    pub(crate) fn requests(&self) -> u64 {
        self.inner.lock().unwrap().requests
    }
}

async fn receive(State(inner): State<Arc<Mutex<Inner>>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let body: Value = serde_json::from_slice(&body).unwrap();
    let mut inner = inner.lock().unwrap();
    inner.requests += 1;
    inner.timestamps.push(headers["webhook-timestamp"].to_str().unwrap().to_owned());
    if let Behaviour::FailsOneIn(n) = inner.behaviour
        && inner.requests.is_multiple_of(n)
    {
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    // Samples and bundles are not part of the copy.
    if body["record"].is_null() {
        return StatusCode::OK;
    }
    apply(&mut inner.copy, &body);
    inner.bodies.push(body);
    StatusCode::OK
}

/// Applies a delivery as the documentation describes.
fn apply(copy: &mut BTreeMap<String, Map<String, Value>>, body: &Value) {
    let id = body["record"]["id"].as_str().unwrap();
    if body["type"] == "record.deleted" {
        copy.remove(id);
        return;
    }
    let set = body["changes"]["set"].as_object().unwrap().clone();
    if body["full"] == true {
        copy.insert(id.to_owned(), set);
        return;
    }
    let record = copy.get_mut(id).expect("a delta follows a full send");
    record.extend(set);
    for name in body["changes"]["unset"].as_array().unwrap() {
        assert!(record.remove(name.as_str().unwrap()).is_some(), "only existing fields are unset: {body}");
    }
}
