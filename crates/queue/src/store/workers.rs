//! Worker processes, for people to look at. The lease itself is renewed by the worker's heartbeat.

use crate::{error::QueueError, store::leader::Term};
use model::{
    id::{ClaimBatchId, WorkerId},
    worker::Worker,
};
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

/// A process that has the name of another program, as it seems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranger {
    /// Where it runs.
    pub host: String,
    /// As what.
    pub pid: i32,
    /// The kinds of jobs it does.
    pub job_types: Vec<String>,
}

/// A live process of the same program that does what this one does not, and does not what this one does: another program under one name.
/// (One that does more, or less, is one of another version.)
///
/// # Errors
/// When the database cannot be asked.
pub async fn stranger(
    connection: &mut PgConnection,
    own: WorkerId,
    program: &str,
    job_types: &[String],
) -> Result<Option<Stranger>, QueueError> {
    let stranger = sqlx::query_as!(
        Stranger,
        r#"
        select w.host, w.pid, w.job_types as "job_types!"
        from headgate.workers w
        where w.lease_until > clock_timestamp() and w.id <> $1 and w.program = $2 and not (w.job_types <@ $3 or w.job_types @> $3)
        order by w.started_at desc, w.id
        limit 1
        "#,
        own as WorkerId,
        program,
        job_types,
    )
    .fetch_optional(connection)
    .await?;
    Ok(stranger)
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

/// Claim batches looked at by one [`forget_claims`].
const CLAIMS: i64 = 500;

/// Removes those of the next claim batches after `cursor` of which the worker holds no job any more; answers where to go on, none when
/// that was the last. A worker deletes its own as they end; this is for those it could not. By a cursor, because hundreds of batches
/// of long jobs would hide all others for as long as they run.
///
/// # Errors
/// When the database cannot be asked.
pub async fn forget_claims(
    pool: &PgPool,
    term: Term,
    cursor: Option<ClaimBatchId>,
) -> Result<Option<ClaimBatchId>, QueueError> {
    // A batch and its jobs are claimed by one statement, so that a batch without a job of its worker has ended for good.
    let looked_at = sqlx::query!(
        r#"
        with looked_at as materialized (
            select id, worker_id, job_ids, claimed_at < clock_timestamp() - interval '1 minute' as is_old
            from headgate.claim_batches
            where ($4::uuid is null or id > $4) and (select headgate.is_leader($1, $2))
            order by id
            limit $3
        ), forgotten as (
            delete from headgate.claim_batches b using looked_at o
            where b.id = o.id and o.is_old and not exists (
                select 1 from unnest(o.job_ids) u (id) join headgate.jobs j on j.id = u.id
                where j.status = 1 and j.worker_id = o.worker_id
            )
        )
        select (array_agg(id order by id desc))[1] as "last: ClaimBatchId", count(*) as "n!" from looked_at
        "#,
        term.holder as WorkerId,
        term.number,
        CLAIMS,
        cursor.map(|id| id.0),
    )
    .fetch_one(pool)
    .await?;
    Ok(looked_at.last.filter(|_| looked_at.n == CLAIMS))
}
