//! The deployment's one sampler: a snapshot a second, two while something moves; measures every few; and the first of each minute for later.

use super::{MaintenanceHealth, Service};
use crate::{
    error::QueueError,
    live::SnapshotInterval,
    store::{
        leader::Term,
        stats::{
            CarriedOver, LastSeen, Measures, Memory, ServiceState, live_snapshots, measures, minutes,
            snapshot_with,
        },
        workers,
    },
};
use async_trait::async_trait;
use chrono::Utc;
use model::stats::{Moment, Warning};
use sqlx::PgPool;
use std::{
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::sync::Mutex;

/// The wait between two measures, which no one looks at by the second.
const MEASURES_STEP: Duration = Duration::from_secs(5);

/// Reads the counters and writes them as the row every process reads.
#[derive(Debug, Default)]
pub struct Sample {
    remembered: Mutex<Remembered>,
    wait_ms: AtomicU64,
    health: OnceLock<MaintenanceHealth>,
}

/// From run to run; a new leader begins without.
#[derive(Debug, Default)]
struct Remembered {
    memory: Memory,
    seen: LastSeen,
    measured_at: Option<Instant>,
    warnings: Vec<Warning>,
    minutes: minutes::Writer,
    interval: SnapshotInterval,
    /// What the leaders before this term counted.
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
        // Told once.
        let _ = self.health.set(health.clone());
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        let begun_at = Instant::now();
        let mut remembered = self.remembered.lock().await;
        let remembered = &mut *remembered;
        let mut snapshot = snapshot_with(pool, &mut remembered.memory).await?;
        let mut measured = None;
        if remembered.measured_at.is_none_or(|at| at.elapsed() >= MEASURES_STEP) {
            // Whoever may not read the server's statistics still gets the gauges.
            match measures(pool, &mut remembered.seen).await {
                Ok(measures) => {
                    let own = self.services();
                    let carried_over = match &remembered.carried_over {
                        Some((of, carried_over)) if *of == term => carried_over,
                        _ => {
                            let told = live_snapshots::last_measures(pool).await?;
                            let carried_over =
                                told.map(|(at, told)| CarriedOver::new(&told.services, at, &own));
                            &remembered.carried_over.insert((term, carried_over.unwrap_or_default())).1
                        }
                    };
                    let services = carried_over.add(own, snapshot.at);
                    let measures = Measures { services, ..measures };
                    remembered.warnings = measures.warnings();
                    measured = Some(measures);
                }
                Err(error) if error.is_unavailable() => return Err(error),
                Err(error) if remembered.measured_at.is_none() => {
                    tracing::warn!(%error, "the state of the database cannot be measured: some metrics are missing");
                }
                Err(error) => tracing::debug!(%error, "the state of the database could not be measured"),
            }
            remembered.measured_at = Some(Instant::now());
        }
        snapshot.warnings.clone_from(&remembered.warnings);
        live_snapshots::write(pool, term, &snapshot, measured.as_ref()).await?;
        let due = remembered.interval.after(&snapshot);
        if remembered.minutes.wants(&snapshot) {
            let moment = Moment { snapshot, workers: workers::list(pool).await? };
            remembered.minutes.write(pool, term, &moment).await?;
        }
        let took = begun_at.elapsed();
        // Where thousands of integrations make a snapshot dear, it may take a tenth of the time.
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
