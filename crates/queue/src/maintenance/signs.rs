//! Work signs: one statement a second reads for all services whether there may be work, so that an idle deployment costs next to nothing.

use super::Service;
use crate::{QueueError, store::connections::for_lookups};
use sqlx::{AssertSqlSafe, PgPool};
use std::{sync::Arc, time::Duration};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

const POLL_INTERVAL: Duration = Duration::from_secs(1);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a service runs without a sign of work.
const IDLE_INTERVAL: Duration = Duration::from_secs(10);

/// For each service with a sign whether it was seen. None: unknown.
type Seen = Option<Arc<[bool]>>;

/// What one service waits for before it runs again.
pub(super) struct Sign {
    seen: watch::Receiver<Seen>,
    /// Its index among the services with a sign.
    index: usize,
}

impl Sign {
    /// Waits until there may be work, at most [`IDLE_INTERVAL`].
    pub(super) async fn seen(&mut self) {
        let latest = Instant::now() + IDLE_INTERVAL;
        while self.seen.borrow_and_update().as_ref().is_some_and(|seen| !seen[self.index]) {
            tokio::select! {
                changed = self.seen.changed() => if changed.is_err() { return },
                () = sleep_until(latest) => return,
            }
        }
    }
}

/// Starts to poll for the signs of these services, until the token is cancelled; returns one for each service, in their order.
pub(super) fn poll(
    services: &[Arc<dyn Service>],
    pool: &PgPool,
    token: CancellationToken,
) -> Vec<Option<Sign>> {
    let (sender, seen) = watch::channel(None);
    let mut questions = Vec::new();
    let signs = services
        .iter()
        .map(|service| {
            questions.push(service.sign()?);
            Some(Sign { seen: seen.clone(), index: questions.len() - 1 })
        })
        .collect();
    if !questions.is_empty() {
        tokio::spawn(repeat(statement(&questions), pool.clone(), sender, token));
    }
    signs
}

fn statement(signs: &[&str]) -> String {
    format!("select array[({})]", signs.join("), ("))
}

async fn repeat(statement: String, engine: PgPool, sender: watch::Sender<Seen>, token: CancellationToken) {
    let mut pool = for_lookups(&engine, 1);
    while !token.is_cancelled() {
        let answer = sqlx::query_scalar::<_, Vec<bool>>(AssertSqlSafe(statement.as_str())).fetch_one(&pool);
        let answer = timeout(ANSWER_TIMEOUT, answer).await.unwrap_or(Err(sqlx::Error::PoolTimedOut));
        sender.send_replace(match answer {
            Ok(seen) => Some(seen.into()),
            Err(error) => {
                // Services run without signs then, and report such errors themselves. The connection is not used again.
                tracing::debug!(error = %QueueError::from(error).with_causes(), "the work signs could not be read");
                pool.close().await;
                pool = for_lookups(&engine, 1);
                None
            }
        });
        tokio::select! {
            () = token.cancelled() => {}
            () = sleep(POLL_INTERVAL) => {}
        }
    }
}
