//! Worker processes, for people to look at. The lease itself is renewed by the worker's heartbeat.

use crate::{error::QueueError, store::leader::Term};
use model::{id::WorkerId, worker::Worker};
use sqlx::{PgConnection, PgPool};

/// The processes whose lease holds, the latest start first.
///
/// # Errors
/// When the database cannot be asked.
pub async fn list(pool: &PgPool) -> Result<Vec<Worker>, QueueError> {
    let workers = sqlx::query_as!(
        Worker,
        r#"
        select w.id as "id: WorkerId", w.host, w.pid, w.version, w.slots, w.busy, w.is_draining,
            (l.holder is not null) as "is_leader!", w.started_at, w.heartbeat_at
        from headgate.workers w
        left join headgate.leader l on l.holder = w.id and l.expires_at > clock_timestamp()
        where w.lease_until > clock_timestamp()
        order by w.started_at desc, w.id desc
        "#
    )
    .fetch_all(pool)
    .await?;
    Ok(workers)
}

/// Asks a process to claim nothing more: it reads that with its next heartbeat and finishes what it holds.
///
/// # Errors
/// `NotFound` when no live process has that id.
pub async fn drain(conn: &mut PgConnection, id: WorkerId) -> Result<Worker, QueueError> {
    sqlx::query_as!(
        Worker,
        r#"
        update headgate.workers w set is_draining = true
        where w.id = $1 and w.lease_until > clock_timestamp()
        returning w.id as "id: WorkerId", w.host, w.pid, w.version, w.slots, w.busy, w.is_draining,
            exists (
                select 1 from headgate.leader l where l.holder = w.id and l.expires_at > clock_timestamp()
            ) as "is_leader!",
            w.started_at, w.heartbeat_at
        "#,
        id as WorkerId,
    )
    .fetch_optional(conn)
    .await?
    .ok_or(QueueError::NotFound)
}

/// Removes the rows of processes that ended long ago and hold no claims; answers how many.
///
/// # Errors
/// When the database cannot be asked.
pub async fn remove_dead(pool: &PgPool, term: Term) -> Result<u64, QueueError> {
    let removed = sqlx::query!(
        r#"
        delete from headgate.workers w
        where w.lease_until < clock_timestamp() - interval '10 minutes'
            and not exists (select 1 from headgate.claim_batches c where c.worker_id = w.id)
            and (select headgate.is_leader($1, $2))
        "#,
        term.holder as WorkerId,
        term.number,
    )
    .execute(pool)
    .await?;
    Ok(removed.rows_affected())
}
