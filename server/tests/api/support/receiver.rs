use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use serde_json::Value;
use std::{net::SocketAddr, time::Duration};
use tokio::net::TcpListener;
use tokio::sync::{Mutex, mpsc};

/// An external system that gives every request the same answer and keeps the requests.
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    requests: Mutex<mpsc::UnboundedReceiver<(HeaderMap, Value)>>,
}

#[derive(Clone)]
struct Answers {
    status: StatusCode,
    body: String,
    requests: mpsc::UnboundedSender<(HeaderMap, Value)>,
}

impl Receiver {
    pub(crate) async fn answering(status: u16) -> Self {
        Self::answering_with(status, "thank you".to_owned()).await
    }

    pub(crate) async fn answering_with(status: u16, body: String) -> Self {
        let (sender, requests) = mpsc::unbounded_channel();
        let answers = Answers { status: StatusCode::from_u16(status).unwrap(), body, requests: sender };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(receive).with_state(answers);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, requests: Mutex::new(requests) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// The next request.
    pub(crate) async fn next(&self) -> (HeaderMap, Value) {
        let mut requests = self.requests.lock().await;
        tokio::time::timeout(Duration::from_secs(60), requests.recv())
            .await
            .expect("a request in time")
            .unwrap()
    }
}

async fn receive(State(answers): State<Answers>, headers: HeaderMap, body: Bytes) -> (StatusCode, String) {
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let _ = answers.requests.send((headers, body));
    (answers.status, answers.body)
}
