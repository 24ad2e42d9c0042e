//! The sampler: takes a snapshot a second, two while something changes; measures every few seconds; and stores the first snapshot of each minute.

use crate::live::SnapshotInterval;
use crate::store::stats::{
    CarriedOver, LastSeen, Measures, SamplerMemory, ServiceState, live_snapshots, measures, minutes,
    snapshot_with,
};
use async_trait::async_trait;
use chrono::Utc;
use model::stats::{Moment, Warning};
use queue::error::QueueError;
use queue::maintenance::{MaintenanceHealth, Service};
use queue::store::leader::Term;
use queue::store::workers;
use sqlx::PgPool;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// Nobody needs measures by the second.
const MEASURES_INTERVAL: Duration = Duration::from_secs(5);

/// Reads the counters and writes them into the row that every process reads.
#[derive(Debug, Default)]
pub struct Sample {
    state: Mutex<State>,
    wait_ms: AtomicU64,
    health: OnceLock<MaintenanceHealth>,
}

/// Kept from run to run; a new leader begins without it.
#[derive(Debug, Default)]
struct State {
    memory: SamplerMemory,
    seen: LastSeen,
    measured_at: Option<Instant>,
    warnings: Vec<Warning>,
    minutes: minutes::Writer,
    interval: SnapshotInterval,
    /// What leaders of earlier terms counted.
    carried_over: Option<(Term, CarriedOver)>,
}

#[async_trait]
impl Service for Sample {
    fn name(&self) -> &'static str {
        "sample"
    }

    fn interval(&self) -> Duration {
        Duration::from_millis(self.wait_ms.load(Ordering::Relaxed))
    }

    fn watch(&self, health: &MaintenanceHealth) {
        // Called once.
        let _ = self.health.set(health.clone());
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        let began_at = Instant::now();
        let mut state = self.state.lock().await;
        let state = &mut *state;
        let mut snapshot = snapshot_with(pool, &mut state.memory).await?;
        let mut measured = None;
        if state.measured_at.is_none_or(|at| at.elapsed() >= MEASURES_INTERVAL) {
            // A database user that may not read the server's statistics still gets the gauges.
            match measures(pool, &mut state.seen).await {
                Ok(measures) => {
                    let own = self.services();
                    let carried_over = match &state.carried_over {
                        Some((of, carried_over)) if *of == term => carried_over,
                        _ => {
                            let last = live_snapshots::last_measures(pool).await?;
                            let carried_over =
                                last.map(|(at, last)| CarriedOver::new(&last.services, at, &own));
                            &state.carried_over.insert((term, carried_over.unwrap_or_default())).1
                        }
                    };
                    let services = carried_over.add(own, snapshot.at);
                    let measures = Measures { services, ..measures };
                    state.warnings = measures.warnings();
                    measured = Some(measures);
                }
                Err(error) if error.is_unavailable() => return Err(error),
                Err(error) if state.measured_at.is_none() => {
                    tracing::warn!(%error, "the state of the database cannot be measured: some metrics are missing");
                }
                Err(error) => tracing::debug!(%error, "the state of the database could not be measured"),
            }
            state.measured_at = Some(Instant::now());
        }
        snapshot.warnings.clone_from(&state.warnings);
        live_snapshots::write(pool, term, &snapshot, measured.as_ref()).await?;
        let due = state.interval.after(&snapshot);
        if state.minutes.wants(&snapshot) {
            let moment = Moment { snapshot, workers: workers::list(pool).await? };
            state.minutes.write(pool, term, &moment).await?;
        }
        let took = began_at.elapsed();
        // Where thousands of integrations make a snapshot expensive, it may take a tenth of the time.
        let wait = due.saturating_sub(took).max(took.saturating_mul(9));
        self.wait_ms.store(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
        Ok(false)
    }
}

impl Sample {
    fn services(&self) -> Vec<ServiceState> {
        let Some(health) = self.health.get() else { return Vec::new() };
        let seconds = |length: chrono::TimeDelta| (length.num_milliseconds() as f64 / 1_000.0).max(0.0);
        health
            .services()
            .into_iter()
            .map(|service| ServiceState {
                is_healthy: service.is_healthy(),
                name: service.name.to_owned(),
                runs: service.runs,
                failures: service.failures,
                failures_in_a_row: service.failures_in_a_row,
                passed_over: service.passed_over,
                seconds_since_success: service.last_success_at.map(|at| seconds(Utc::now() - at)),
                took_seconds: service.last_took.as_secs_f64(),
            })
            .collect()
    }
}
