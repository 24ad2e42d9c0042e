//! Whether there may be something to do: asked for all services by one statement a second, so that a deployment in which nothing happens costs
//! next to nothing.

use super::{Service, run::with_causes};
use crate::pool;
use sqlx::{AssertSqlSafe, PgPool};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

/// Between two questions: what comes up is met within it.
const STEP: Duration = Duration::from_secs(1);
/// An answer takes no longer, where there is one.
const PATIENCE: Duration = Duration::from_secs(5);
/// A service that there is no sign for runs all the same, but no more often.
const RARELY: Duration = Duration::from_secs(10);

/// For each service that knows a sign: whether it was seen. None: nobody knows.
type Seen = Option<Arc<[bool]>>;

/// What one service waits for before it runs again.
pub(super) struct Sign {
    seen: watch::Receiver<Seen>,
    /// Its place among those that know a sign.
    place: usize,
}

impl Sign {
    /// Until there may be something to do, or it has been a while.
    pub(super) async fn seen(&mut self) {
        let latest = Instant::now() + RARELY;
        while self.seen.borrow_and_update().as_ref().is_some_and(|seen| !seen[self.place]) {
            tokio::select! {
                changed = self.seen.changed() => if changed.is_err() { return },
                () = sleep_until(latest) => return,
            }
        }
    }
}

/// Begins to look for the signs of these services, until the token ends it; one for each of them, in their order.
pub(super) fn look_for(
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
            Some(Sign { seen: seen.clone(), place: questions.len() - 1 })
        })
        .collect();
    if !questions.is_empty() {
        tokio::spawn(ask(question(&questions), pool.clone(), sender, token));
    }
    signs
}

fn question(signs: &[&str]) -> String {
    format!("select array[({})]", signs.join("), ("))
}

async fn ask(question: String, engine: PgPool, sender: watch::Sender<Seen>, token: CancellationToken) {
    let mut pool = pool::probing(&engine, 1);
    while !token.is_cancelled() {
        let asked = sqlx::query_scalar::<_, Vec<bool>>(AssertSqlSafe(question.as_str())).fetch_one(&pool);
        let asked = timeout(PATIENCE, asked).await.unwrap_or(Err(sqlx::Error::PoolTimedOut));
        sender.send_replace(match asked {
            Ok(seen) => Some(seen.into()),
            Err(error) => {
                // Every service finds out by itself, and says so. A connection that does not answer is not asked again.
                tracing::debug!(error = %with_causes(&error.into()), "nobody knows what there is to do");
                pool.close().await;
                pool = pool::probing(&engine, 1);
                None
            }
        });
        tokio::select! {
            () = token.cancelled() => {}
            () = sleep(STEP) => {}
        }
    }
}
