//! How long a request waited for a connection. The client does not report it; a layer around its connector does, to the task that sends.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Instant;
use tower::{Layer, Service};

tokio::task_local! {
    static DIAL: Arc<Dial>;
}

/// The connection that was opened for one request, if any: a kept one is used without the connector.
#[derive(Debug, Default)]
pub(super) struct Dial {
    begun: OnceLock<Instant>,
    open: OnceLock<Instant>,
}

impl Dial {
    /// Records the connection that is opened during `sending`.
    pub(super) async fn watch<F: Future>(self: &Arc<Self>, sending: F) -> F::Output {
        DIAL.scope(Arc::clone(self), sending).await
    }

    /// How long it took to open. None: none was opened, or a kept one became free before.
    pub(super) fn took(&self) -> Option<Duration> {
        Some(self.open.get()?.duration_since(*self.begun.get()?))
    }

    /// As [`Self::took`]; until now when it is not open yet.
    pub(super) fn took_by(&self, now: Instant) -> Option<Duration> {
        self.took().or_else(|| Some(now.duration_since(*self.begun.get()?)))
    }

    /// Whether the request had a connection: a new one, or one that was kept.
    pub(super) fn had_connection(&self) -> bool {
        self.open.get().is_some() || self.begun.get().is_none()
    }
}

/// The layer around the client's connector.
#[derive(Clone, Copy)]
pub(super) struct Dialling;

impl<S> Layer<S> for Dialling {
    type Service = Dialled<S>;

    fn layer(&self, inner: S) -> Dialled<S> {
        Dialled(inner)
    }
}

/// A connector that records when it begins and when it is done.
#[derive(Clone)]
pub(super) struct Dialled<S>(S);

impl<S, R> Service<R> for Dialled<S>
where
    S: Service<R>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, to: R) -> Self::Future {
        // The first one counts: the client may begin a second one.
        let dial = DIAL.try_with(Arc::clone).ok().filter(|dial| dial.begun.set(Instant::now()).is_ok());
        let connecting = self.0.call(to);
        Box::pin(async move {
            let connected = connecting.await;
            if let (Some(dial), Ok(_)) = (dial, &connected) {
                // Set once, by this future alone.
                let _ = dial.open.set(Instant::now());
            }
            connected
        })
    }
}
