//! Worker processes as the API and the console show them. Their leases are renewed by the worker's heartbeat.

use crate::error::{QueueError, Result};
use crate::store::leader::Term;
use chrono::{DateTime, Utc};
use model::id::{ClaimBatchId, WorkerId};
use model::worker::{LeaseState, Worker};
use sqlx::{PgConnection, PgPool};

/// The processes whose lease has not ended, or ended less than ten minutes ago; the latest start first.
pub async fn list(pool: &PgPool) -> Result<Vec<Worker>> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        select w.id as "id: WorkerId", w.host, w.pid, w.version, w.program, w.job_types, w.slots, w.busy, w.is_draining,
            (l.holder is not null) as "is_leader!", w.started_at, w.heartbeat_at,
            extract(epoch from clock_timestamp() - w.heartbeat_at)::float8 as "age!",
            extract(epoch from w.lease_until - w.heartbeat_at)::float8 as "lease!"
        from headgate.workers w
        left join headgate.leader l on l.holder = w.id and l.expires_at > clock_timestamp()
        where w.lease_until > clock_timestamp() - interval '10 minutes'
        order by w.started_at desc, w.id desc
        "#
    )
    .fetch_all(pool)
    .await?;
    Ok(rows.into_iter().map(Worker::from).collect())
}

struct Row {
    id: WorkerId,
    host: String,
    pid: i32,
    version: String,
    program: Option<String>,
    job_types: Option<Vec<String>>,
    slots: i32,
    busy: i32,
    is_draining: bool,
    is_leader: bool,
    started_at: DateTime<Utc>,
    heartbeat_at: DateTime<Utc>,
    /// Seconds since the last heartbeat.
    age: f64,
    /// Length in seconds of the lease that came with it.
    lease: f64,
}

impl From<Row> for Worker {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            host: row.host,
            pid: row.pid,
            version: row.version,
            program: row.program,
            job_types: row.job_types,
            slots: row.slots,
            busy: row.busy,
            is_draining: row.is_draining,
            is_leader: row.is_leader,
            lease: LeaseState::of(row.age, row.lease),
            started_at: row.started_at,
            heartbeat_at: row.heartbeat_at,
        }
    }
}

/// A process that seems to belong to another program with the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameClash {
    pub host: String,
    pub pid: i32,
    pub job_types: Vec<String>,
}

/// A live process with the same program name that does some job types that this one does not, and lacks some that this one does: another program with
/// the same name. (A process with only more or only fewer job types is of another version.)
pub async fn name_clash(
    connection: &mut PgConnection,
    own: WorkerId,
    program: &str,
    job_types: &[String],
) -> Result<Option<NameClash>> {
    let name_clash = sqlx::query_as!(
        NameClash,
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
    Ok(name_clash)
}

/// Asks a process to claim nothing more: it reads that with its next heartbeat and finishes the jobs it has.
///
/// # Errors
/// `NotFound` when no live process has that id.
pub async fn drain(conn: &mut PgConnection, id: WorkerId) -> Result<Worker> {
    let row = sqlx::query_as!(
        Row,
        r#"
        update headgate.workers w set is_draining = true
        where w.id = $1 and w.lease_until > clock_timestamp()
        returning w.id as "id: WorkerId", w.host, w.pid, w.version, w.program, w.job_types, w.slots, w.busy, w.is_draining,
            exists (
                select 1 from headgate.leader l where l.holder = w.id and l.expires_at > clock_timestamp()
            ) as "is_leader!",
            w.started_at, w.heartbeat_at, extract(epoch from clock_timestamp() - w.heartbeat_at)::float8 as "age!",
            extract(epoch from w.lease_until - w.heartbeat_at)::float8 as "lease!"
        "#,
        id as WorkerId,
    )
    .fetch_optional(conn)
    .await?;
    row.map(Worker::from).ok_or(QueueError::NotFound)
}

/// Where a worker runs or ran.
pub(crate) struct Process {
    pub(crate) id: WorkerId,
    pub(crate) host: String,
    pub(crate) pid: i32,
}

/// The processes of workers; those whose row is gone are missing.
pub(crate) async fn processes(pool: &PgPool, ids: &[WorkerId]) -> Result<Vec<Process>> {
    let processes = sqlx::query_as!(
        Process,
        r#"select id as "id: WorkerId", host, pid from headgate.workers where id = any ($1)"#,
        ids as &[WorkerId],
    )
    .fetch_all(pool)
    .await?;
    Ok(processes)
}

/// Removes the rows of processes that ended long ago and have no claim batches; returns how many.
pub async fn remove_dead(pool: &PgPool, term: Term) -> Result<u64> {
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

/// Claim batches checked by one [`remove_ended_claims`].
const CLAIM_PORTION: i64 = 500;

/// Checks the next claim batches after `cursor` and removes those of which the worker has no job any more; returns where to continue, none after
/// the last. Workers delete their own as they end; this is for those they could not. It uses a cursor, because hundreds of batches
/// of long jobs would otherwise hide all others for as long as they run.
pub async fn remove_ended_claims(
    pool: &PgPool,
    term: Term,
    cursor: Option<ClaimBatchId>,
) -> Result<Option<ClaimBatchId>> {
    // A batch and its jobs are claimed by one statement, so a batch without a job of its worker has ended for good.
    let checked = sqlx::query!(
        r#"
        with checked as materialized (
            select id, worker_id, job_ids, claimed_at < clock_timestamp() - interval '1 minute' as is_old
            from headgate.claim_batches
            where ($4::uuid is null or id > $4) and (select headgate.is_leader($1, $2))
            order by id
            limit $3
        ), removed as (
            delete from headgate.claim_batches b using checked o
            where b.id = o.id and o.is_old and not exists (
                select 1 from unnest(o.job_ids) u (id) join headgate.jobs j on j.id = u.id
                where j.status = 1 and j.worker_id = o.worker_id
            )
        )
        select (array_agg(id order by id desc))[1] as "last: ClaimBatchId", count(*) as "n!" from checked
        "#,
        term.holder as WorkerId,
        term.number,
        CLAIM_PORTION,
        cursor.map(|id| id.0),
    )
    .fetch_one(pool)
    .await?;
    Ok(checked.last.filter(|_| checked.n == CLAIM_PORTION))
}
