//! What workers see of integrations in trouble.

use super::{Change, row};
use crate::error::QueueError;
use chrono::{DateTime, Utc};
use model::{
    breaker::BreakerState,
    id::IntegrationId,
    rules::breaker::{Outcome, Rule, Seen},
};
use sqlx::{Connection as _, PgConnection, PgPool};

/// What one process saw of one integration since it last said so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// In the order in which they ended.
    pub outcomes: Vec<Outcome>,
    /// How the last failure among them reads.
    pub last_error: Option<String>,
}

/// A breaker that is not closed, or whose integration failed lately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Of which integration.
    pub integration_id: IntegrationId,
    /// Its state.
    pub state: BreakerState,
    /// Since when.
    pub since: Option<DateTime<Utc>>,
    /// Up to now.
    pub failures_in_a_row: i32,
}

/// What came of a report.
#[derive(Debug, Default)]
pub struct Report {
    /// The breakers as they are now.
    pub(crate) watched: Vec<Watched>,
    /// What changed.
    pub(crate) changes: Vec<Change>,
    /// Whether more jobs may run than before.
    pub(crate) lets_more_run: bool,
    /// Integrations that somebody is deleting, or has locked as if: nothing was written of them. Tell it again.
    pub(crate) passed_over: Vec<IntegrationId>,
}

/// Takes in what was seen, in a transaction of its own. `failures` is how many in a row open a breaker, 0: none do.
///
/// # Errors
/// When the database is away, or the transaction lost a race: nothing is written then.
pub async fn observe(
    pool: &PgPool,
    seen: &[(IntegrationId, Observed)],
    failures: i32,
) -> Result<Report, QueueError> {
    let mut connection = pool.acquire().await?;
    let mut transaction = connection.begin().await?;
    let ids: Vec<IntegrationId> = seen.iter().map(|(id, _)| *id).collect();
    let mut report = Report::default();
    for mut held in row::hold(&mut transaction, &ids).await? {
        let id = held.integration_id;
        let Some((_, observed)) = seen.iter().find(|(seen, _)| *seen == id) else { continue };
        let seen = Seen { outcomes: &observed.outcomes, last_error: observed.last_error.as_deref() };
        let rule = Rule { failures, max_concurrency: held.max_concurrency, random: rand::random() };
        let before = held.circuit.clone();
        let flips = held.circuit.observe(&seen, &rule, held.now);
        let breaker = &held.circuit.breaker;
        report.watched.push(Watched {
            integration_id: id,
            state: breaker.state,
            since: breaker.since,
            failures_in_a_row: breaker.failures_in_a_row,
        });
        if held.circuit != before {
            let most = |at_once: Option<i32>| at_once.unwrap_or(i32::MAX);
            report.lets_more_run |= most(breaker.at_once) > most(before.breaker.at_once);
            row::write(&mut transaction, &held, &flips, None).await?;
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
        // A count that a crash forgets is no loss; a change of state is waited for.
        set_asynchronous(&mut transaction).await?;
    }
    transaction.commit().await?;
    Ok(report)
}

/// Those that have not been deleted, as far as anybody can see yet.
async fn still_there(
    connection: &mut PgConnection,
    ids: &[IntegrationId],
) -> Result<Vec<IntegrationId>, QueueError> {
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

async fn set_asynchronous(connection: &mut PgConnection) -> Result<(), QueueError> {
    sqlx::query!("select set_config('synchronous_commit', 'off', true)").fetch_one(connection).await?;
    Ok(())
}

/// The breakers to be told of successes too.
///
/// # Errors
/// When the database is away.
pub async fn watched(pool: &PgPool) -> Result<Vec<Watched>, QueueError> {
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
