//! One service's loop: run, report, wait.

use super::{MaintenanceHealth, Service, signs::Sign};
use crate::error::{panic_message, within};
use crate::store::leader::Term;
use sqlx::PgPool;
use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, sleep};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

/// The wait after the first failure; doubled by each further one.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The longest wait after a failure.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// A database that is away fails all services alike, and the leader's lease with them, which is reported: theirs only if it goes on.
const MIN_REPORTED_AWAY: u32 = 4;

/// Runs a service until the token is cancelled. A run is aborted only at its deadline, and the pool then discards the connection it had.
pub(super) async fn repeat(
    service: Arc<dyn Service>,
    pool: PgPool,
    term: Term,
    health: MaintenanceHealth,
    mut sign: Option<Sign>,
    token: CancellationToken,
) {
    loop {
        let wait = run(&service, &pool, term, &health).await;
        let next = async {
            sleep(wait).await;
            match &mut sign {
                Some(sign) if !wait.is_zero() && !service.is_busy() => sign.seen().await,
                _ => {}
            }
        };
        tokio::select! {
            biased;
            () = token.cancelled() => return,
            () = next => {}
        }
    }
}

/// One run, in a task of its own so that a panic stays there; it is aborted together with this future. Returns how long to wait.
async fn run(service: &Arc<dyn Service>, pool: &PgPool, term: Term, health: &MaintenanceHealth) -> Duration {
    let name = service.name();
    let began_at = Instant::now();
    let running = {
        let (service, pool) = (Arc::clone(service), pool.clone());
        AbortOnDropHandle::new(tokio::spawn(async move {
            within(service.deadline(), service.run_once(&pool, term)).await
        }))
    };
    let (error, is_away) = match running.await {
        Ok(Ok(is_more)) => {
            health.succeeded(name, began_at.elapsed());
            return if is_more { Duration::ZERO } else { service.interval() };
        }
        Ok(Err(error)) => (error.with_causes(), error.is_unavailable()),
        Err(error) if error.is_panic() => {
            let message = format!("panicked: {}", panic_message(error.into_panic().as_ref()));
            (model::text::sanitise(&message, 500), false)
        }
        // The runtime shuts down.
        Err(_) => return LONGEST_WAIT,
    };
    let in_a_row = health.failed(name, began_at.elapsed(), error.clone());
    // One line for the first failure in a row, and then ever fewer.
    if in_a_row.is_power_of_two() && (!is_away || in_a_row >= MIN_REPORTED_AWAY) {
        tracing::warn!(service = name, failures = in_a_row, %error, "maintenance service {name} failed");
    }
    back_off(in_a_row).max(service.interval().min(LONGEST_WAIT))
}

fn back_off(failures: u32) -> Duration {
    FIRST_WAIT.saturating_mul(1 << failures.saturating_sub(1).min(10)).min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_half_a_minute() {
        for (failures, millis) in [(1, 500), (2, 1_000), (4, 4_000), (7, 30_000), (u32::MAX, 30_000)] {
            assert_eq!(back_off(failures), Duration::from_millis(millis), "{failures}");
        }
    }
}
