//! A breaker's row.

use crate::error::Result;
use chrono::{DateTime, Utc};
use model::breaker::{Breaker, BreakerState};
use model::id::{AppId, BreakerFlipId, IntegrationId};
use model::rules::breaker::{Circuit, Flip, Recent};
use sqlx::PgConnection;

/// A breaker whose row is locked.
pub(super) struct Locked {
    pub(super) integration_id: IntegrationId,
    pub(super) app_id: AppId,
    pub(super) max_concurrency: i32,
    /// The database's clock, read after the wait for the lock.
    pub(super) now: DateTime<Utc>,
    pub(super) circuit: Circuit,
}

/// A change of state that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) integration_id: IntegrationId,
    pub(crate) flip: Flip,
}

impl Change {
    pub(crate) fn log(&self) {
        let (id, to, reason) = (self.integration_id, self.flip.to.as_str(), self.flip.reason.as_str());
        if self.flip.to == BreakerState::Open {
            tracing::warn!(integration.id = %id, reason, "the circuit of integration {id} is open: its jobs wait");
        } else {
            tracing::info!(integration.id = %id, reason, "the circuit of integration {id} is {to}");
        }
    }
}

/// Locks the breakers of these integrations, in the order of their ids, and creates missing ones. Integrations that are deleted, or
/// are being deleted right now, are left out.
pub(super) async fn lock_or_create(
    connection: &mut PgConnection,
    ids: &[IntegrationId],
) -> Result<Vec<Locked>> {
    let ids = &lock_integrations(connection, ids).await?;
    sqlx::query!(
        r#"
        insert into headgate.breakers (integration_id)
        select l.integration_id from headgate.lanes l
        where l.integration_id = any ($1) and not exists (select 1 from headgate.breakers b where b.integration_id = l.integration_id)
        order by l.integration_id
        on conflict do nothing
        "#,
        ids as &[IntegrationId],
    )
    .execute(&mut *connection)
    .await?;
    lock(connection, ids).await
}

pub(super) async fn lock_existing(
    connection: &mut PgConnection,
    ids: &[IntegrationId],
) -> Result<Vec<Locked>> {
    let ids = lock_integrations(connection, ids).await?;
    lock(connection, &ids).await
}

/// Locks integrations against deletion before their breakers are locked: a deletion locks the integration before its breaker, and each recorded
/// change refers to the integration. One that is being deleted is skipped without a wait.
async fn lock_integrations(
    connection: &mut PgConnection,
    ids: &[IntegrationId],
) -> Result<Vec<IntegrationId>> {
    let locked = sqlx::query_scalar!(
        r#"
        select id as "id: IntegrationId" from headgate.integrations
        where id = any ($1)
        order by id
        for key share skip locked
        "#,
        ids as &[IntegrationId],
    )
    .fetch_all(connection)
    .await?;
    Ok(locked)
}

async fn lock(connection: &mut PgConnection, ids: &[IntegrationId]) -> Result<Vec<Locked>> {
    let rows = sqlx::query!(
        r#"
        with locked as materialized (
            select b.integration_id, b.since, b.probe_at, b.held_until, b.step_at, b.failed_at, b.recent_since, b.recent_attempts,
                b.recent_failures, b.recent_attempts_before, b.recent_failures_before, b.failures_in_a_row, b.times_opened,
                b.successes, b.failures, b.at_once, b.state, b.reason
            from headgate.breakers b
            where b.integration_id = any ($1)
            order by b.integration_id
            for update
        )
        -- The clock is read for each row after the wait for its lock.
        select h.integration_id as "integration_id: IntegrationId", l.app_id as "app_id: AppId", l.max_concurrency, clock_timestamp() as "now!",
            h.since, h.probe_at, h.held_until, h.step_at, h.failed_at, h.recent_since, h.recent_attempts, h.recent_failures,
            h.recent_attempts_before, h.recent_failures_before, h.failures_in_a_row, h.times_opened, h.successes, h.failures, h.at_once,
            h.state, h.reason
        from locked h
        join headgate.lanes l on l.integration_id = h.integration_id
        order by h.integration_id
        "#,
        ids as &[IntegrationId],
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            let state: BreakerState =
                row.state.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
            let breaker = Breaker {
                state,
                since: row.since,
                probe_at: row.probe_at,
                held_until: row.held_until,
                failures_in_a_row: row.failures_in_a_row,
                at_once: row.at_once,
                reason: row.reason,
            };
            let recent = Recent {
                since: row.recent_since,
                attempts: row.recent_attempts,
                failures: row.recent_failures,
                attempts_before: row.recent_attempts_before,
                failures_before: row.recent_failures_before,
            };
            let circuit = Circuit {
                breaker,
                times_opened: row.times_opened,
                successes: row.successes,
                failures: row.failures,
                step_at: row.step_at,
                failed_at: row.failed_at,
                recent,
            };
            Ok(Locked {
                integration_id: row.integration_id,
                app_id: row.app_id,
                max_concurrency: row.max_concurrency,
                now: row.now,
                circuit,
            })
        })
        .collect()
}

/// Writes a breaker, the cap that the claim obeys, and the changes of state.
pub(super) async fn write(
    connection: &mut PgConnection,
    locked: &Locked,
    flips: &[Flip],
    actor: Option<&str>,
) -> Result<()> {
    let Circuit { breaker, times_opened, successes, failures, step_at, failed_at, recent } = &locked.circuit;
    sqlx::query!(
        r#"
        with capped as (
            update headgate.lanes set breaker_cap = $18
            where integration_id = $1 and breaker_cap is distinct from $18
        )
        update headgate.breakers
        set since = $2, probe_at = $3, held_until = $4, step_at = $5, failed_at = $6, recent_since = $7, recent_attempts = $8,
            recent_failures = $9, recent_attempts_before = $10, recent_failures_before = $11, failures_in_a_row = $12, times_opened = $13,
            successes = $14, failures = $15, state = $16, reason = $17, at_once = $18, is_watched = $19
        where integration_id = $1
        "#,
        locked.integration_id as IntegrationId,
        breaker.since,
        breaker.probe_at,
        breaker.held_until,
        *step_at,
        *failed_at,
        recent.since,
        recent.attempts,
        recent.failures,
        recent.attempts_before,
        recent.failures_before,
        breaker.failures_in_a_row,
        times_opened,
        successes,
        failures,
        breaker.state.as_str(),
        breaker.reason.as_deref(),
        breaker.at_once,
        locked.circuit.is_watched(locked.now),
    )
    .execute(&mut *connection)
    .await?;
    for flip in flips {
        sqlx::query!(
            r#"
            insert into headgate.breaker_flips (id, integration_id, app_id, at, from_state, to_state, reason, actor)
            values ($1, $2, $3, $4, $5, $6, $7, $8)
            "#,
            flip_id(locked.now) as BreakerFlipId,
            locked.integration_id as IntegrationId,
            locked.app_id as AppId,
            locked.now,
            flip.from.as_str(),
            flip.to.as_str(),
            flip.reason,
            actor,
        )
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// With the database's time, so that the ids of a breaker's changes are in order whichever process wrote them.
fn flip_id(now: DateTime<Utc>) -> BreakerFlipId {
    let seconds = u64::try_from(now.timestamp()).unwrap_or(0);
    let at = uuid::Timestamp::from_unix(uuid::NoContext, seconds, now.timestamp_subsec_nanos());
    BreakerFlipId(uuid::Uuid::new_v7(at))
}
