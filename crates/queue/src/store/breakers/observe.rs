//! Outcomes of attempts that workers report to the breakers.

use super::{Change, row};
use crate::error::Result;
use chrono::{DateTime, Utc};
use model::breaker::BreakerState;
use model::id::IntegrationId;
use model::rules::breaker::{Outcome, Rule, Seen};
use sqlx::{Connection as _, PgConnection, PgPool};

/// What one process saw of one integration since its last report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// In the order in which the attempts ended.
    pub outcomes: Vec<Outcome>,
    /// The error message of the last failure among them.
    pub last_error: Option<String>,
}

/// A breaker that is not closed, or whose integration failed lately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    pub integration_id: IntegrationId,
    pub state: BreakerState,
    /// Since when it is in that state.
    pub since: Option<DateTime<Utc>>,
    pub failures_in_a_row: i32,
}

/// What a report changed.
#[derive(Debug, Default)]
pub struct Report {
    /// The breakers as they are now.
    pub(crate) watched: Vec<Watched>,
    pub(crate) changes: Vec<Change>,
    /// Whether more jobs may run than before.
    pub(crate) lets_more_run: bool,
    /// Integrations locked elsewhere, for deletion or otherwise: nothing was written for them. Report them again.
    pub(crate) passed_over: Vec<IntegrationId>,
}

/// Feeds the breakers with what was seen, in a transaction of its own; nothing is written if it fails. `failures` is how many in a row open a
/// breaker, 0: none do.
pub async fn observe(pool: &PgPool, seen: &[(IntegrationId, Observed)], failures: i32) -> Result<Report> {
    let mut connection = pool.acquire().await?;
    let mut transaction = connection.begin().await?;
    let ids: Vec<IntegrationId> = seen.iter().map(|(id, _)| *id).collect();
    let mut report = Report::default();
    for mut locked in row::lock_or_create(&mut transaction, &ids).await? {
        let id = locked.integration_id;
        let Some((_, observed)) = seen.iter().find(|(seen, _)| *seen == id) else { continue };
        let seen = Seen { outcomes: &observed.outcomes, last_error: observed.last_error.as_deref() };
        let rule = Rule { failures, max_concurrency: locked.max_concurrency, random: rand::random() };
        let before = locked.circuit.clone();
        let flips = locked.circuit.observe(&seen, &rule, locked.now);
        let breaker = &locked.circuit.breaker;
        report.watched.push(Watched {
            integration_id: id,
            state: breaker.state,
            since: breaker.since,
            failures_in_a_row: breaker.failures_in_a_row,
        });
        if locked.circuit != before {
            let cap = |at_once: Option<i32>| at_once.unwrap_or(i32::MAX);
            report.lets_more_run |= cap(breaker.at_once) > cap(before.breaker.at_once);
            row::write(&mut transaction, &locked, &flips, None).await?;
        }
        report.changes.extend(flips.into_iter().map(|flip| Change { integration_id: id, flip }));
    }
    if report.watched.len() < ids.len() {
        let missed: Vec<IntegrationId> = ids
            .into_iter()
            .filter(|id| report.watched.iter().all(|watched| watched.integration_id != *id))
            .collect();
        report.passed_over = still_there(&mut transaction, &missed).await?;
    }
    if report.changes.is_empty() {
        // A count may be lost in a crash of the server; a change of state must be durable.
        set_asynchronous(&mut transaction).await?;
    }
    transaction.commit().await?;
    Ok(report)
}

/// Those that are not deleted, as far as is committed.
async fn still_there(connection: &mut PgConnection, ids: &[IntegrationId]) -> Result<Vec<IntegrationId>> {
    let there = sqlx::query_scalar!(
        r#"
        select l.integration_id as "id: IntegrationId" from headgate.lanes l
        where l.integration_id = any ($1) and exists (select 1 from headgate.integrations i where i.id = l.integration_id)
        "#,
        ids as &[IntegrationId],
    )
    .fetch_all(connection)
    .await?;
    Ok(there)
}

async fn set_asynchronous(connection: &mut PgConnection) -> Result<()> {
    sqlx::query!("select set_config('synchronous_commit', 'off', true)").fetch_one(connection).await?;
    Ok(())
}

/// The breakers to which successes are reported too.
pub async fn watched(pool: &PgPool) -> Result<Vec<Watched>> {
    let rows = sqlx::query!(
        r#"
        select integration_id as "integration_id: IntegrationId", state, since, failures_in_a_row
        from headgate.breakers where is_watched
        "#
    )
    .fetch_all(pool)
    .await?;
    rows.into_iter()
        .map(|row| {
            let state = row.state.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
            Ok(Watched {
                integration_id: row.integration_id,
                state,
                since: row.since,
                failures_in_a_row: row.failures_in_a_row,
            })
        })
        .collect()
}
