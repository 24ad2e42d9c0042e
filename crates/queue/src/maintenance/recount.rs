//! Proves regularly that the counters are exact.
//!
//! One part (an integration, an app …) at a time, each in a short statement on a connection of its own. A lane so long that counting it would keep a snapshot
//! for more than two seconds is skipped and reported as not proven: the proof must not slow the queue down.

use super::{Counters, Service};
use crate::error::Result;
use crate::pool;
use crate::store::counts::recount::{Proof, begin, conclude, next_integration, prove_jobs};
use crate::store::counts::recounts::{self, Round};
use crate::store::leader::Term;
use async_trait::async_trait;
use model::id::IntegrationId;
use sqlx::{Connection as _, PgConnection, PgPool};
use std::sync::Arc;
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

/// Recounts the jobs of every integration, and then what other crates count; logs and corrects what was wrong.
#[derive(Debug)]
pub(crate) struct Recount {
    counters: Vec<Arc<dyn Counters>>,
    started_at: Instant,
    after_start: Duration,
    count_timeout: Duration,
}

impl Recount {
    /// Recounts jobs, and then these, in this order.
    pub(crate) fn new(counters: Vec<Arc<dyn Counters>>) -> Self {
        Self::with(counters, AFTER_START, COUNT_TIMEOUT)
    }

    pub(crate) fn with(
        counters: Vec<Arc<dyn Counters>>,
        after_start: Duration,
        count_timeout: Duration,
    ) -> Self {
        Self { counters, started_at: Instant::now(), after_start, count_timeout }
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

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool> {
        let may_begin = self.started_at.elapsed() >= self.after_start;
        let mut connection = pool.acquire().await?;
        let Some(round) = recounts::current(&mut connection, EVERY, may_begin).await? else {
            return Ok(false);
        };
        drop(connection);
        let mut connection = pool::connect_alone(pool, Some(self.count_timeout * 2)).await?;
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
    ) -> Result<()> {
        let began_at = Instant::now();
        let mut is_over = false;
        while !is_over && began_at.elapsed() < RUN {
            let drift_before = round.drift;
            is_over = self.step(connection, term, &mut round).await?;
            recounts::save(connection, term, &round, round.drift - drift_before, is_over).await?;
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

    /// One part of the round; true when none is left.
    async fn step(&self, connection: &mut PgConnection, term: Term, round: &mut Round) -> Result<bool> {
        let Some(stage) = &round.stage else {
            return self.prove_next_integration(connection, term, round).await;
        };
        // Counters that this process does not know, because it is of another version or program, are left to the next round.
        let Some(index) = self.counters.iter().position(|counters| counters.name() == stage) else {
            return Ok(true);
        };
        let counters = &self.counters[index];
        let Some(part) = counters.next(connection, round.cursor).await? else {
            round.cursor = Uuid::nil();
            round.stage = self.counters.get(index + 1).map(|next| next.name().to_owned());
            return Ok(round.stage.is_none());
        };
        round.cursor = part;
        let off_by = match begin(connection, term, self.count_timeout).await? {
            Some(mut transaction) => {
                let compared = counters.prove(&mut transaction, part).await;
                conclude(transaction, compared).await?
            }
            None => None,
        };
        if let Some(off_by @ 1..) = off_by {
            counters.report(part, off_by);
        }
        if counters.is_exact() || off_by.is_none() {
            round.add(off_by);
        }
        Ok(false)
    }

    async fn prove_next_integration(
        &self,
        connection: &mut PgConnection,
        term: Term,
        round: &mut Round,
    ) -> Result<bool> {
        let Some(id) = next_integration(connection, IntegrationId(round.cursor)).await? else {
            round.cursor = Uuid::nil();
            round.stage = self.counters.first().map(|first| first.name().to_owned());
            return Ok(round.stage.is_none());
        };
        round.cursor = id.0;
        round.add(match prove_jobs(connection, term, id, self.count_timeout).await? {
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
        });
        Ok(false)
    }
}
