//! Recovers jobs whose worker is gone.

use super::passed_over::PassedOver;
use super::portions::{Done, begin, in_portions};
use super::{MaintenanceHealth, Service};
use crate::config::EngineConfig;
use crate::error::Result;
use crate::store::connections::end;
use crate::store::jobs::{self, Recovered};
use crate::store::leader::Term;
use crate::store::workers::{self, Process};
use crate::wake::wake_all;
use async_trait::async_trait;
use model::id::{ClaimBatchId, JobId, WorkerId};
use sqlx::PgPool;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

const NAME: &str = "lease_recovery";
/// Claim batches checked in one run.
const CLAIM_BATCHES: i64 = 50;
/// Jobs recovered in one transaction.
const JOBS: usize = 1_000;
/// Workers named in one line of the log.
const MAX_NAMED: usize = 5;

/// Finds jobs whose lease has ended and ends their attempt: they are to be retried, or, jobs of a program after three leases lost in
/// a row, dead letters. A job that cannot be recovered is skipped, and so is one that is locked elsewhere, or whose key is: all others are recovered.
#[derive(Debug)]
pub(super) struct LeaseRecovery {
    interval: Duration,
    cursors: Mutex<Cursors>,
    passed_over: PassedOver,
}

/// How far the scans have come; none: at the beginning.
#[derive(Debug, Default)]
struct Cursors {
    /// For claims of workers that are gone.
    dead: Option<ClaimBatchId>,
    /// For claims that have ended.
    ended: Option<ClaimBatchId>,
}

impl LeaseRecovery {
    /// Runs every `HEADGATE_RECOVERY_INTERVAL`.
    pub(super) fn new(config: &EngineConfig) -> Self {
        Self {
            interval: config.recovery_interval,
            cursors: Mutex::default(),
            passed_over: PassedOver::by(NAME),
        }
    }

    /// Recovers as many of these as possible.
    async fn recover(&self, pool: &PgPool, term: Term, lost: &[(JobId, WorkerId)]) -> Result<Recovered> {
        let Done { answers, faulty, error, .. } = in_portions(lost, JOBS, |portion| async move {
            let mut transaction = begin(pool, term).await?;
            let recovered = jobs::recover(&mut transaction, &portion).await;
            end(transaction, recovered).await
        })
        .await;
        self.passed_over.note(faulty.iter().map(|((id, _), error)| (*id, error)));
        let recovered = answers.into_iter().sum();
        if recovered != Recovered::default() {
            let Recovered { returned, dead, cancelled } = recovered;
            let workers = names(pool, lost).await;
            tracing::warn!(given_back = returned, dead, cancelled, %workers, "recovered jobs of workers that vanished");
            wake_all(pool).await?;
        }
        error.map_or(Ok(recovered), Err)
    }
}

#[async_trait]
impl Service for LeaseRecovery {
    fn name(&self) -> &'static str {
        NAME
    }

    fn interval(&self) -> Duration {
        self.interval
    }

    fn watch(&self, health: &MaintenanceHealth) {
        self.passed_over.watch(health);
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool> {
        let mut cursors = self.cursors.lock().await;
        let mut transaction = begin(pool, term).await?;
        let found = jobs::claims_of_dead_workers(&mut transaction, cursors.dead, CLAIM_BATCHES).await?;
        transaction.commit().await?;
        if !found.batches.is_empty() {
            let now = Instant::now();
            let is_due = |(id, _): &(JobId, WorkerId)| !self.passed_over.is_left_alone(*id, now);
            let lost: Vec<_> = found.jobs.into_iter().filter(is_due).collect();
            self.recover(pool, term, &lost).await?;
            let mut transaction = begin(pool, term).await?;
            jobs::delete_dead_claims(&mut transaction, &found.batches).await?;
            transaction.commit().await?;
        }
        let is_complete = (found.batches.len() as i64) < CLAIM_BATCHES;
        cursors.dead = found.batches.last().copied().filter(|_| !is_complete);
        if !is_complete {
            return Ok(true);
        }
        self.passed_over.forget_old(Instant::now());
        cursors.ended = workers::remove_ended_claims(pool, term, cursors.ended).await?;
        workers::remove_dead(pool, term).await?;
        Ok(cursors.ended.is_some())
    }
}

/// Names the workers of lost jobs for the log.
async fn names(pool: &PgPool, lost: &[(JobId, WorkerId)]) -> String {
    let workers: BTreeSet<WorkerId> = lost.iter().map(|(_, worker)| *worker).collect();
    let named: Vec<WorkerId> = workers.iter().copied().take(MAX_NAMED).collect();
    // Without an answer their ids have to do.
    let processes = workers::processes(pool, &named).await.unwrap_or_default();
    in_words(&named, &processes, workers.len())
}

/// The named ones of `count` workers, with host and process as far as they are known.
fn in_words(named: &[WorkerId], processes: &[Process], count: usize) -> String {
    let name = |id: &WorkerId| match processes.iter().find(|process| process.id == *id) {
        Some(Process { host, pid, .. }) => format!("{id} (process {pid} on {host})"),
        None => id.to_string(),
    };
    let mut words: Vec<String> = named.iter().map(name).collect();
    if count > named.len() {
        words.push(format!("{} more", count - named.len()));
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vanished_workers_are_named_by_host_and_process_as_far_as_known() {
        let (known, gone) = (WorkerId::generate(), WorkerId::generate());
        let processes = [Process { id: known, host: "web-3".to_owned(), pid: 4_711 }];
        assert_eq!(in_words(&[known], &processes, 1), format!("{known} (process 4711 on web-3)"));
        assert_eq!(
            in_words(&[known, gone], &processes, 9),
            format!("{known} (process 4711 on web-3), {gone}, 7 more")
        );
    }
}
