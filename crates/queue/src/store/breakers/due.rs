//! What time alone changes about breakers: the leader's part.

use super::{Change, row};
use crate::{
    error::QueueError,
    store::leader::{self, Term},
};
use model::id::IntegrationId;
use sqlx::PgPool;

/// Breakers that may have something to do now: a wait that is over, a step of a ramp, a failure that is so old that nobody need watch.
///
/// # Errors
/// When the database is away.
pub async fn due(pool: &PgPool, most: i64) -> Result<Vec<IntegrationId>, QueueError> {
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
        most,
    )
    .fetch_all(pool)
    .await?;
    Ok(due)
}

/// Lets time do its part with these, in one transaction of the leader's; answers whether more jobs may run.
///
/// # Errors
/// [`QueueError::LeaseLost`] when the term is over; when the database is away.
pub async fn tick(pool: &PgPool, term: Term, ids: &[IntegrationId]) -> Result<bool, QueueError> {
    let mut transaction = pool.begin().await?;
    leader::confirm(&mut transaction, term).await?;
    let mut changes = Vec::new();
    let mut lets_more_run = false;
    for mut held in row::hold_known(&mut transaction, ids).await? {
        let before = held.circuit.breaker.at_once;
        let flip = held.circuit.tick(held.max_concurrency, held.now);
        lets_more_run |= held.circuit.breaker.at_once != before;
        row::write(&mut transaction, &held, flip.as_slice(), None).await?;
        changes.extend(flip.map(|flip| Change { integration_id: held.integration_id, flip }));
    }
    transaction.commit().await?;
    changes.iter().for_each(Change::tell);
    Ok(lets_more_run)
}
