//! Recovering lost leases: jobs of dead workers go back to the queue. Those that were cancelled meanwhile end.
//!
//! A program's handler may be what kills the process it runs in: so the third lease lost in a row makes a dead letter of its job, which would kill
//! the next process. A delivery kills none, and a deployment whose workers are killed again and again must not give up deliveries that were never
//! sent: a delivery goes back each time, from the third time on after a wait that doubles, in case it does kill them.

use crate::error::Result;
use crate::store::jobs::rows::columns::column;
use crate::store::jobs::rows::keys;
use model::id::{ClaimBatchId, IntegrationId, JobId, WorkerId};
use model::rules::fingerprint::cause_of;
use sqlx::PgConnection;

/// From so many leases lost in a row on, the job itself may be the cause.
const MAX_LOST_LEASES: i32 = 3;
/// How long a delivery waits after so many lost leases; the wait doubles with each further one.
const MIN_WAIT_SECONDS: i32 = 1;
const MAX_WAIT_SECONDS: i32 = 300;

/// The result of a recovery: numbers of jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Jobs that went back to the queue.
    pub returned: u64,
    /// Jobs that became dead letters (`worker_lost`).
    pub dead: u64,
    /// Jobs that had been cancelled, and ended.
    pub cancelled: u64,
}

impl std::iter::Sum for Recovered {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |a, b| Self {
            returned: a.returned + b.returned,
            dead: a.dead + b.dead,
            cancelled: a.cancelled + b.cancelled,
        })
    }
}

/// What becomes of a job whose lease was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Returned { wait_seconds: i32 },
    Cancelled,
    Dead,
}

impl Fate {
    /// `lost_leases` were lost in a row, this one included.
    fn of(is_cancel_requested: bool, lost_leases: i32, may_kill_process: bool) -> Self {
        let beyond = lost_leases - MAX_LOST_LEASES;
        if is_cancel_requested {
            Self::Cancelled
        } else if beyond < 0 {
            Self::Returned { wait_seconds: 0 }
        } else if may_kill_process {
            Self::Dead
        } else {
            let doubled = MIN_WAIT_SECONDS.checked_shl(beyond.unsigned_abs()).filter(|wait| *wait > 0);
            Self::Returned { wait_seconds: doubled.unwrap_or(MAX_WAIT_SECONDS).min(MAX_WAIT_SECONDS) }
        }
    }

    fn is_end(self) -> bool {
        !matches!(self, Self::Returned { .. })
    }

    fn action(self) -> i16 {
        match self {
            Self::Returned { .. } => RETURNED,
            Self::Cancelled => CANCELLED,
            Self::Dead => DEAD,
        }
    }

    fn wait_seconds(self) -> i32 {
        if let Self::Returned { wait_seconds } = self { wait_seconds } else { 0 }
    }
}

const RETURNED: i16 = 0;
const CANCELLED: i16 = 4;
const DEAD: i16 = 5;

struct Recoverable {
    id: JobId,
    worker_id: WorkerId,
    fate: Fate,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct DeadClaims {
    /// The claims, in order.
    pub(crate) batches: Vec<ClaimBatchId>,
    /// The jobs of these claims that the workers still have, with the worker.
    pub(crate) jobs: Vec<(JobId, WorkerId)>,
}

/// The next `limit` claims of dead workers after a cursor. There is a cursor, because claims with a job that cannot be recovered yet would hide
/// all others.
pub(crate) async fn claims_of_dead_workers(
    connection: &mut PgConnection,
    after: Option<ClaimBatchId>,
    limit: i64,
) -> Result<DeadClaims> {
    let rows = sqlx::query!(
        r#"
        select b.id as "batch_id: ClaimBatchId", b.worker_id as "worker_id: WorkerId",
            array(
                select j.id from unnest(b.job_ids) u (id)
                cross join lateral (select j.id from headgate.jobs j where j.id = u.id and j.status = 1 and j.worker_id = b.worker_id offset 0) j
            ) as "jobs!: Vec<JobId>"
        from headgate.claim_batches b
        where ($1::uuid is null or b.id > $1)
            and not exists (select 1 from headgate.workers w where w.id = b.worker_id and w.lease_until > clock_timestamp())
        order by b.id
        limit $2
        "#,
        after.map(|id| id.0),
        limit,
    )
    .fetch_all(connection)
    .await?;
    let mut found = DeadClaims::default();
    for row in rows {
        found.batches.push(row.batch_id);
        found.jobs.extend(row.jobs.into_iter().map(|id| (id, row.worker_id)));
    }
    Ok(found)
}

/// Deletes those of the claims of which no job is left with the worker.
pub(crate) async fn delete_dead_claims(
    connection: &mut PgConnection,
    batches: &[ClaimBatchId],
) -> Result<()> {
    sqlx::query!(
        r#"
        delete from headgate.claim_batches b
        where b.id = any ($1) and not exists (
            select 1 from unnest(b.job_ids) u (id)
            cross join lateral (select j.id from headgate.jobs j where j.id = u.id and j.status = 1 and j.worker_id = b.worker_id offset 0) j
        )
        "#,
        batches as &[ClaimBatchId],
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Recovers the jobs of up to `limit` claims of workers whose lease has run out. Call it in a transaction, again while it finds something.
///
/// # Errors
/// When the statement lost a race: nothing is changed, call it again.
pub async fn recover_lost_leases(connection: &mut PgConnection, limit: i64) -> Result<Recovered> {
    let found = claims_of_dead_workers(connection, None, limit).await?;
    let recovered = recover(connection, &found.jobs).await?;
    delete_dead_claims(connection, &found.batches).await?;
    Ok(recovered)
}

/// Recovers jobs from dead workers; those that another transaction has locked, or whose key it has although they must leave it, are skipped. Call
/// it in a transaction.
///
/// # Errors
/// When the database refuses one of them, or the statement lost a race: nothing is changed.
pub(crate) async fn recover(connection: &mut PgConnection, jobs: &[(JobId, WorkerId)]) -> Result<Recovered> {
    struct Row {
        id: JobId,
        integration_id: IntegrationId,
        serialize_key: Option<String>,
        action: i16,
        successor_key: Option<String>,
    }
    let recoverable = lock_recoverable(connection, jobs).await?;
    let rows = sqlx::query_file_as!(
        Row,
        "src/store/jobs/recover/recover.sql",
        &column(&recoverable, |one| one.id.0),
        &column(&recoverable, |one| one.worker_id.0),
        &column(&recoverable, |one| one.fate.action()),
        &column(&recoverable, |one| one.fate.wait_seconds()),
        cause_of(None, "The worker vanished.").to_string(),
    )
    .fetch_all(&mut *connection)
    .await?;
    let ended: Vec<&Row> = rows.iter().filter(|row| row.action != RETURNED).collect();
    let mut lanes = Vec::new();
    let mut keys = Vec::new();
    for row in &ended {
        for key in [&row.serialize_key, &row.successor_key].into_iter().flatten() {
            lanes.push(row.integration_id);
            keys.push(key.clone());
        }
    }
    if !keys.is_empty() {
        let ended: Vec<JobId> = ended.iter().map(|row| row.id).collect();
        keys::leave(connection, &lanes, &keys, &ended).await?;
    }
    let cancelled = ended.iter().filter(|row| row.action == CANCELLED).count();
    let (dead, returned) = (ended.len() - cancelled, rows.len() - ended.len());
    Ok(Recovered { returned: returned as u64, dead: dead as u64, cancelled: cancelled as u64 })
}

/// Locks the rows of the jobs, and the keys of those that end, as far as that is possible without waiting. Returns the jobs that got all their locks,
/// and what becomes of them.
///
/// A producer that enqueues a job with a key has the key locked until it commits. A job that ends advances its key and would have to wait for
/// that; a recovery that waited would delay all other jobs too. Which keys are needed is known only from the job's row: so keys are locked after
/// jobs, against the order of locks, which cannot deadlock because it never waits.
async fn lock_recoverable(
    connection: &mut PgConnection,
    jobs: &[(JobId, WorkerId)],
) -> Result<Vec<Recoverable>> {
    let rows = sqlx::query!(
        r#"
        select g.id as "id!: JobId", g.worker_id as "worker_id!: WorkerId", j.integration_id as "integration_id!: IntegrationId",
            j.serialize_key, j.successor ->> 'serialize_key' as successor_key, j.lost_leases + 1 as "lost_leases!",
            coalesce(j.cancel_requested_of = j.assignment_id, false) as "is_cancel_requested!",
            -- Lanes that `headgate` itself serves are deliveries.
            coalesce((
                select l.served_by is not null or l.is_external from headgate.lanes l where l.integration_id = j.integration_id
            ), false) as "may_kill_process!"
        from unnest($1::uuid[], $2::uuid[]) as g (id, worker_id)
        cross join lateral (
            select j.integration_id, j.serialize_key, j.successor, j.lost_leases, j.cancel_requested_of, j.assignment_id
            from headgate.jobs j where j.id = g.id and j.status = 1 and j.worker_id = g.worker_id
            for update skip locked offset 0
        ) j
        "#,
        &column(jobs, |(id, _)| id.0),
        &column(jobs, |(_, worker)| worker.0),
    )
    .fetch_all(&mut *connection)
    .await?;
    let mut needed = Vec::new();
    let mut recoverable = Vec::with_capacity(rows.len());
    for row in rows {
        let fate = Fate::of(row.is_cancel_requested, row.lost_leases, row.may_kill_process);
        if fate.is_end() {
            for key in [row.serialize_key, row.successor_key].into_iter().flatten() {
                needed.push((row.id, row.integration_id, key));
            }
        }
        recoverable.push(Recoverable { id: row.id, worker_id: row.worker_id, fate });
    }
    let locked_elsewhere = keys::try_lock_keys(connection, &needed).await?;
    recoverable.retain(|one| !locked_elsewhere.contains(&one.id));
    Ok(recoverable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_goes_back_however_often_and_waits_longer_each_time() {
        let waits = |lost_leases| Fate::of(false, lost_leases, false).wait_seconds();
        let all: Vec<i32> = (1..=12).map(waits).collect();
        assert_eq!(all, [0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300]);
        assert_eq!(Fate::of(false, 32_000, false), Fate::Returned { wait_seconds: MAX_WAIT_SECONDS });
    }

    #[test]
    fn a_job_of_a_program_is_dead_the_third_time_and_a_cancelled_one_ends() {
        let fates = [1, 2, 3].map(|lost_leases| Fate::of(false, lost_leases, true));
        let at_once = Fate::Returned { wait_seconds: 0 };
        assert_eq!(fates, [at_once, at_once, Fate::Dead]);
        assert_eq!(Fate::of(true, 3, true), Fate::Cancelled);
    }
}
