//! A database, a running program, a client of its API, external systems.

mod api;
mod database;
mod program;
mod proxy;
mod receiver;

pub(crate) use api::Api;
pub(crate) use database::Database;
pub(crate) use program::{ADMIN_KEY, Output, Program, headgate, run};
pub(crate) use proxy::Proxy;
pub(crate) use receiver::{Behaviour, Receiver};

use std::{future::Future, time::Duration};
use tokio::time::{Instant, sleep};

/// Polls until there is an answer, because what is waited for happens in another process, which sends no event.
pub(crate) async fn eventually<T, F>(what: &str, timeout: Duration, mut ask: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let deadline = Instant::now() + timeout;
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(Instant::now() < deadline, "not within {} s: {what}", timeout.as_secs());
        sleep(Duration::from_millis(25)).await;
    }
}
