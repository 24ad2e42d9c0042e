//! An external system: builds its copy of the catalog from what it is sent and from nothing else.

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    net::Ipv4Addr,
    sync::{Arc, Mutex},
};
use tokio::net::TcpListener;

/// How it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// 200 to everything.
    Obliging,
    /// 503 to one request in so many.
    FailsOneIn(u64),
}

/// A running system.
#[derive(Clone)]
pub(crate) struct Receiver {
    pub(crate) url: String,
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    manner: Manner,
    requests: u64,
    copy: BTreeMap<String, Map<String, Value>>,
    bodies: Vec<Value>,
    timestamps: Vec<String>,
}

impl Receiver {
    pub(crate) async fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let inner =
            Inner { manner, requests: 0, copy: BTreeMap::new(), bodies: Vec::new(), timestamps: Vec::new() };
        let inner = Arc::new(Mutex::new(inner));
        let router = Router::new().route("/hook", post(receive)).with_state(Arc::clone(&inner));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, inner }
    }

    /// Its copy: attributes by record id.
    pub(crate) fn copy(&self) -> BTreeMap<String, Map<String, Value>> {
        self.inner.lock().unwrap().copy.clone()
    }

    /// The bodies it accepted since it was last asked.
    pub(crate) fn take_bodies(&self) -> Vec<Value> {
        std::mem::take(&mut self.inner.lock().unwrap().bodies)
    }

    /// When the requests say that they were signed.
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
    if let Manner::FailsOneIn(n) = inner.manner
        && inner.requests.is_multiple_of(n)
    {
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    // A sample, or a bundle: it keeps no copy of those.
    if body["record"].is_null() {
        return StatusCode::OK;
    }
    apply(&mut inner.copy, &body);
    inner.bodies.push(body);
    StatusCode::OK
}

/// The contract, section 4.
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
        assert!(record.remove(name.as_str().unwrap()).is_some(), "only what is there is unset: {body}");
    }
}
