//! Accepts connections and answers their requests until shutdown.

use super::ConnectionLimits;
use super::slots::{Slot, Slots};
use crate::{router, state::AppState};
use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::serve::Listener;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use std::{net::SocketAddr, time::Duration};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

/// Browsers send headers of some kilobytes, proxies forward 32 at most. A connection buffers an incomplete header.
const MAX_HEADER_BYTES: usize = 32 * 1024;

/// Accepts connections until `stop`; then finishes the requests that have begun.
pub async fn serve(
    mut listener: TcpListener,
    state: AppState,
    limits: ConnectionLimits,
    stop: CancellationToken,
) {
    let slots = Slots::new(limits, state.settings.trusted_proxies.clone());
    let (everything, probes) = (router::build(state.clone()), router::probes(&state));
    let open = GracefulShutdown::new();
    loop {
        let (stream, peer) = tokio::select! {
            () = stop.cancelled() => break,
            // axum's accept waits a second and tries again when the process has no file left.
            accepted = Listener::accept(&mut listener) => accepted,
        };
        let slot = slots.take(peer.ip());
        let router = if slot.is_reserve() { &probes } else { &everything }.clone();
        let connection = Connection { stream, peer, slot, router, limits };
        tokio::spawn(connection.answer(open.watcher()));
    }
    drop(listener);
    open.shutdown().await;
}

struct Connection {
    stream: TcpStream,
    peer: SocketAddr,
    slot: Slot,
    router: Router,
    limits: ConnectionLimits,
}

impl Connection {
    async fn answer(self, watcher: Watcher) {
        let Self { stream, peer, slot, router, limits } = self;
        let begun = CancellationToken::new();
        let begun_by_request = begun.clone();
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            begun_by_request.cancel();
            let mut request: Request = request.map(Body::new);
            request.extensions_mut().insert(ConnectInfo(peer));
            router.clone().oneshot(request)
        });
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(limits.unread));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.next_header)
            .max_buf_size(MAX_HEADER_BYTES)
            // A slot of the reserve is for one answer.
            .keep_alive(!slot.is_reserve())
            .serve_connection(TokioIo::new(Box::pin(stream)), service);
        tokio::select! {
            ended = watcher.watch(connection) => if let Err(error) = ended {
                tracing::debug!(client.address = %peer.ip(), %error, "a connection failed");
            },
            () = no_request(&begun, limits.first_header) => {
                tracing::debug!(client.address = %peer.ip(), "a connection sent no request in time");
            }
            () = slot.evicted() => {
                tracing::debug!(client.address = %peer.ip(), "a connection was replaced by a newer one");
            }
        }
    }
}

/// Returns after `within` unless a request has begun by then.
async fn no_request(begun: &CancellationToken, within: Duration) {
    if timeout(within, begun.cancelled()).await.is_ok() {
        std::future::pending::<()>().await;
    }
}
