//! Proves regularly that the counters are exact.
//!
//! One integration at a time, each in a short statement on a connection of its own. A lane so long that counting it would keep a snapshot
//! for more than two seconds is skipped and reported as not proven: the proof must not slow the queue down.

use super::Service;
use crate::{
    error::QueueError,
    pool,
    store::{
        counts::{
            recount::{Proof, next_app, next_integration, prove_in_sync, prove_jobs, prove_records},
            recount_failures::{next_cause, prove_failures},
            recounts::{self, Round},
        },
        leader::Term,
    },
};
use async_trait::async_trait;
use model::{
    failure::CauseId,
    id::{AppId, IntegrationId},
};
use sqlx::{Connection as _, PgConnection, PgPool};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Between the end of a round and the next.
const EVERY: Duration = Duration::from_secs(60 * 60);
/// No round begins earlier: a program that has just started is busy enough.
const AFTER_START: Duration = Duration::from_secs(10 * 60);
/// The longest a statement may count.
const COUNT_TIMEOUT: Duration = Duration::from_secs(2);
/// The length of a run; then the disk is left to others for a while.
const RUN: Duration = Duration::from_secs(2);

/// Recounts the jobs of every integration and the records it has, the records of every app and the failures of every cause; logs and corrects
/// what was wrong.
#[derive(Debug)]
pub struct Recount {
    started_at: Instant,
    after_start: Duration,
    count_timeout: Duration,
}

impl Default for Recount {
    fn default() -> Self {
        Self::with(AFTER_START, COUNT_TIMEOUT)
    }
}

impl Recount {
    /// With another wait before the first round, and another timeout of the statements: for tests and tools.
    #[must_use]
    pub fn with(after_start: Duration, count_timeout: Duration) -> Self {
        Self { started_at: Instant::now(), after_start, count_timeout }
    }
}

#[async_trait]
impl Service for Recount {
    fn name(&self) -> &'static str {
        "recount"
    }

    /// Between two parts of a round, and two checks whether one is due.
    fn interval(&self) -> Duration {
        Duration::from_secs(5)
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        let may_begin = self.started_at.elapsed() >= self.after_start;
        let mut connection = pool.acquire().await?;
        let Some(round) = recounts::current(&mut connection, EVERY, may_begin).await? else {
            return Ok(false);
        };
        drop(connection);
        let mut connection = PgConnection::connect_with(&pool.connect_options()).await?;
        pool::prepare(&mut connection, Some(self.count_timeout * 2)).await?;
        self.continue_round(&mut connection, term, round).await?;
        // Everything is committed: a failed close loses nothing.
        let _ = connection.close().await;
        Ok(false)
    }
}

impl Recount {
    async fn continue_round(
        &self,
        connection: &mut PgConnection,
        term: Term,
        mut round: Round,
    ) -> Result<(), QueueError> {
        let began_at = Instant::now();
        let mut is_over = false;
        while !is_over && began_at.elapsed() < RUN {
            let drift_before = round.drift;
            is_over = self.step(connection, term, &mut round).await?;
            recounts::save(connection, term, round, round.drift - drift_before, is_over).await?;
        }
        if is_over {
            tracing::info!(
                proven = round.proven,
                unproven = round.unproven,
                drift = round.drift,
                "the counters were recounted"
            );
        }
        Ok(())
    }

    /// One integration, one app, or one cause; true when none is left.
    async fn step(
        &self,
        connection: &mut PgConnection,
        term: Term,
        round: &mut Round,
    ) -> Result<bool, QueueError> {
        let off_by = if round.is_at_failures {
            let after = CauseId(round.cursor.as_u64_pair().0);
            let Some(cause) = next_cause(connection, after).await? else { return Ok(true) };
            round.cursor = Uuid::from_u64_pair(cause.0, 0);
            let off_by = prove_failures(connection, term, cause, self.count_timeout).await?;
            if let Some(off_by @ 1..) = off_by {
                tracing::error!(failure.cause = %cause, off_by, "the number of failures of cause {cause} was wrong and has been corrected");
            }
            off_by
        } else if round.is_at_records {
            let Some(app_id) = next_app(connection, AppId(round.cursor)).await? else {
                (round.is_at_failures, round.cursor) = (true, Uuid::nil());
                return Ok(false);
            };
            round.cursor = app_id.0;
            let off_by = prove_records(connection, term, app_id, self.count_timeout).await?;
            if let Some(off_by @ 1..) = off_by {
                tracing::error!(app.id = %app_id, off_by, "the number of records of app {app_id} was wrong and has been corrected");
            }
            off_by
        } else {
            let Some(id) = next_integration(connection, IntegrationId(round.cursor)).await? else {
                (round.is_at_records, round.cursor) = (true, Uuid::nil());
                return Ok(false);
            };
            round.cursor = id.0;
            let in_sync = prove_in_sync(connection, term, id, self.count_timeout).await?;
            match in_sync {
                Some(0) => {}
                // No fault: jobs under way for an integration that takes no more jobs are not waited for.
                Some(off_by) => tracing::info!(
                    integration.id = %id, off_by,
                    "the number of records that integration {id} has in their current version has been corrected"
                ),
                None => round.unproven += 1,
            }
            match prove_jobs(connection, term, id, self.count_timeout).await? {
                Proof::Holds => Some(0),
                Proof::Open => None,
                Proof::Repaired(drifts) => {
                    for drift in &drifts {
                        tracing::error!(
                            integration.id = %id, status = drift.status, attempt = drift.attempt, counted = drift.counted,
                            real = drift.real, "a counter of integration {id} was wrong and has been corrected"
                        );
                    }
                    Some(drifts.iter().map(|drift| (drift.counted - drift.real).abs()).sum::<i64>())
                }
            }
        };
        match off_by {
            Some(off_by) => {
                round.proven += 1;
                round.drift += off_by;
            }
            None => round.unproven += 1,
        }
        Ok(false)
    }
}
