//! Changes of breakers that are due to time alone. The leader makes them.

use super::{Change, row};
use crate::error::Result;
use crate::store::leader::{self, Term};
use model::id::IntegrationId;
use sqlx::PgPool;

/// Breakers that may have to change now: a wait is over, a step of a ramp is due, or the last failure is so old that the breaker is no longer watched.
pub async fn due(pool: &PgPool, limit: i64) -> Result<Vec<IntegrationId>> {
    let due = sqlx::query_scalar!(
        r#"
        select b.integration_id as "integration_id: IntegrationId" from headgate.breakers b
        where b.is_watched and case b.state
            when 'open' then b.probe_at <= clock_timestamp()
            when 'ramping' then b.step_at <= clock_timestamp() - interval '10 seconds'
            when 'closed' then b.failed_at is null or b.failed_at <= clock_timestamp() - interval '1 minute'
                and (b.failures_in_a_row = 0 or b.failed_at <= clock_timestamp() - interval '1 hour')
            else false
        end
        order by b.integration_id
        limit $1
        "#,
        limit,
    )
    .fetch_all(pool)
    .await?;
    Ok(due)
}

/// Applies the passing of time to these, in one transaction of the leader; returns whether more jobs may run than before.
///
/// # Errors
/// [`crate::QueueError::TermOver`] when the term is over.
pub async fn tick(pool: &PgPool, term: Term, ids: &[IntegrationId]) -> Result<bool> {
    let mut transaction = pool.begin().await?;
    leader::confirm(&mut transaction, term).await?;
    let mut changes = Vec::new();
    let mut lets_more_run = false;
    for mut locked in row::lock_existing(&mut transaction, ids).await? {
        let before = locked.circuit.breaker.at_once;
        let flip = locked.circuit.tick(locked.max_concurrency, locked.now);
        lets_more_run |= locked.circuit.breaker.at_once != before;
        row::write(&mut transaction, &locked, flip.as_slice(), None).await?;
        changes.extend(flip.map(|flip| Change { integration_id: locked.integration_id, flip }));
    }
    transaction.commit().await?;
    changes.iter().for_each(Change::log);
    Ok(lets_more_run)
}
