//! The external system of the deliveries: it answers 200 to everything, and reports what it got and when.

use anyhow::Result;
use axum::{Router, body::Bytes, http::StatusCode};
use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};
use std::time::Instant;
use tokio::{net::TcpListener, sync::mpsc};

/// A receiver in a process of its own, which is killed when this is dropped.
pub(crate) struct Receiver {
    child: Child,
    pub(crate) url: String,
}

impl Receiver {
    pub(crate) async fn start() -> Result<Self> {
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let child = Command::new(std::env::current_exe()?)
            .args(["--receiver", &port.to_string()])
            .stdout(Stdio::null())
            .spawn()?;
        let receiver = Self { child, url: format!("http://127.0.0.1:{port}/") };
        while reqwest::get(&receiver.url).await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        Ok(receiver)
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The process behind [`Receiver`].
pub(crate) async fn run(port: u16) -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let router = Router::new().fallback(|_: Bytes| async { StatusCode::OK });
    Ok(axum::serve(listener, router).await?)
}

/// A receiver in this process, which reports each body and its time. Returns its address.
pub(crate) async fn reporting(reports: mpsc::UnboundedSender<(Bytes, Instant)>) -> Result<String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let url = format!("http://{}/", listener.local_addr()?);
    let router = Router::new().fallback(move |body: Bytes| {
        // The bench may have ended.
        let _ = reports.send((body, Instant::now()));
        async { StatusCode::OK }
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(url)
}
