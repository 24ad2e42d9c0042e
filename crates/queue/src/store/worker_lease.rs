//! The row of a worker process, which is its lease: registered, renewed by heartbeats, and deleted when the process signs off.

use crate::error::Result;
use chrono::{DateTime, Utc};
use model::id::{ClaimBatchId, WorkerId};
use sqlx::PgConnection;
use uuid::Uuid;

/// What a process says of itself.
pub(crate) struct Registration<'a> {
    pub(crate) worker_id: WorkerId,
    pub(crate) lease_ms: f64,
    /// Most jobs it runs at once.
    pub(crate) slots: usize,
    pub(crate) program: Option<&'a str>,
    /// None: it does all kinds of jobs.
    pub(crate) job_types: Option<&'a [String]>,
    /// Whether the process starts, as opposed to going on after it lost a lease.
    pub(crate) is_start: bool,
}

/// Begins a lease.
pub(crate) async fn register(connection: &mut PgConnection, process: Registration<'_>) -> Result<()> {
    // The second part is for people: which process started, and whether its version started for the first time.
    sqlx::query!(
        r#"
        with registered as (
            insert into headgate.workers (id, host, pid, version, slots, lease_until, program, job_types)
            values ($1, $2, $3, $4, $5, clock_timestamp() + $6 * interval '1 millisecond', $7, $8)
            on conflict (id) do update set lease_until = excluded.lease_until
            returning id, host, program, version
        )
        insert into headgate.system_events (id, kind, worker_id, host, program, version)
        select e.id, e.kind, r.id, r.host, r.program, r.version
        from registered r
        cross join (values ($9::uuid, 'version'), ($10::uuid, 'start')) e (id, kind)
        where e.kind = 'start' and $11 and not exists (select 1 from headgate.workers w where w.id = r.id)
            or e.kind = 'version' and not exists (
                select 1 from headgate.system_events s
                where s.kind = 'version' and s.version = r.version and s.program is not distinct from r.program
            )
        "#,
        process.worker_id.0,
        gethostname::gethostname().to_string_lossy().into_owned(),
        i32::try_from(std::process::id()).unwrap_or(0),
        env!("CARGO_PKG_VERSION"),
        i32::try_from(process.slots).unwrap_or(i32::MAX),
        process.lease_ms,
        process.program,
        process.job_types as Option<&[String]>,
        Uuid::now_v7(),
        Uuid::now_v7(),
        process.is_start,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The answer to a heartbeat.
pub(crate) struct Renewed {
    /// An operator asked the process to claim nothing more.
    pub(crate) is_draining: bool,
    pub(crate) now: DateTime<Utc>,
}

/// Renews a lease, and deletes claim batches that have been recorded. None: the lease is lost.
pub(crate) async fn renew(
    connection: &mut PgConnection,
    worker_id: WorkerId,
    lease_ms: f64,
    busy: usize,
    done: &[ClaimBatchId],
) -> Result<Option<Renewed>> {
    let row = sqlx::query!(
        r#"
        with forgotten as (
            delete from headgate.claim_batches where id = any ($4)
        )
        update headgate.workers
        set lease_until = clock_timestamp() + $2 * interval '1 millisecond', heartbeat_at = clock_timestamp(), busy = $3
        where id = $1 and lease_until > clock_timestamp()
        returning is_draining, clock_timestamp() as "now!"
        "#,
        worker_id.0,
        lease_ms,
        i32::try_from(busy).unwrap_or(i32::MAX),
        done as &[ClaimBatchId],
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| Renewed { is_draining: row.is_draining, now: row.now }))
}

/// Ends the lease of a process that stops in order, and deletes claim batches that have been recorded.
pub(crate) async fn sign_off(
    connection: &mut PgConnection,
    worker_id: WorkerId,
    done: &[ClaimBatchId],
) -> Result<()> {
    sqlx::query!(
        r#"
        with forgotten as (
            delete from headgate.claim_batches where id = any ($2)
        )
        delete from headgate.workers where id = $1
        "#,
        worker_id.0,
        done as &[ClaimBatchId],
    )
    .execute(connection)
    .await?;
    Ok(())
}
