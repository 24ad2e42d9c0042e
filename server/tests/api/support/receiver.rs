use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
};
use serde_json::Value;
use std::{net::SocketAddr, time::Duration};
use tokio::{
    net::TcpListener,
    sync::{Mutex, mpsc},
};

/// An external system that answers every request alike and hands over what it got.
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    got: Mutex<mpsc::UnboundedReceiver<(HeaderMap, Value)>>,
}

#[derive(Clone)]
struct Answers {
    status: StatusCode,
    says: String,
    got: mpsc::UnboundedSender<(HeaderMap, Value)>,
}

impl Receiver {
    pub(crate) async fn answering(status: u16) -> Self {
        Self::saying(status, "thank you".to_owned()).await
    }

    /// The same with words of its own.
    pub(crate) async fn saying(status: u16, says: String) -> Self {
        let (sender, got) = mpsc::unbounded_channel();
        let answers = Answers { status: StatusCode::from_u16(status).unwrap(), says, got: sender };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(receive).with_state(answers);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, got: Mutex::new(got) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// The next request.
    pub(crate) async fn next(&self) -> (HeaderMap, Value) {
        let mut got = self.got.lock().await;
        tokio::time::timeout(Duration::from_secs(20), got.recv()).await.expect("a request in time").unwrap()
    }
}

async fn receive(State(answers): State<Answers>, headers: HeaderMap, body: Bytes) -> (StatusCode, String) {
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let _ = answers.got.send((headers, body));
    (answers.status, answers.says)
}
