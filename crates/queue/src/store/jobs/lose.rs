//! Lost leases: jobs of workers that vanished go back. Those that were called off meanwhile end.
//!
//! A handler of a program may be what ends the processes it runs in: the third lease lost in a row makes a dead letter of its job, which would
//! end the next process. A delivery ends none, and a deployment whose workers are killed again and again must not give up what never left:
//! it goes back each time, from the third on after a wait that doubles, should it end them after all.

use crate::{
    error::QueueError,
    store::jobs::{columns::column, keys},
};
use model::{
    id::{ClaimBatchId, IntegrationId, JobId, WorkerId},
    rules::fingerprint::cause_of,
};
use sqlx::PgConnection;

/// Leases lost in a row from which on the job itself may be the cause.
const MOST_LOST_LEASES: i32 = 3;
/// How long a delivery waits after so many, and at most.
const FIRST_WAIT_SECONDS: i32 = 1;
const LONGEST_WAIT_SECONDS: i32 = 300;

/// What a sweep found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Jobs that went back to the queue.
    pub given_back: u64,
    /// Jobs that became dead letters (`worker_lost`).
    pub dead: u64,
    /// Jobs that had been called off, and ended so.
    pub cancelled: u64,
}

impl std::iter::Sum for Lost {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |a, b| Self {
            given_back: a.given_back + b.given_back,
            dead: a.dead + b.dead,
            cancelled: a.cancelled + b.cancelled,
        })
    }
}

/// What becomes of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    GoesBack { wait_seconds: i32 },
    Cancelled,
    Dead,
}

impl Fate {
    /// After so many leases lost in a row, this one included.
    fn of(is_called_off: bool, lost_leases: i32, may_end_processes: bool) -> Self {
        let beyond = lost_leases - MOST_LOST_LEASES;
        if is_called_off {
            Self::Cancelled
        } else if beyond < 0 {
            Self::GoesBack { wait_seconds: 0 }
        } else if may_end_processes {
            Self::Dead
        } else {
            let doubled = FIRST_WAIT_SECONDS.checked_shl(beyond.unsigned_abs()).filter(|wait| *wait > 0);
            Self::GoesBack { wait_seconds: doubled.unwrap_or(LONGEST_WAIT_SECONDS).min(LONGEST_WAIT_SECONDS) }
        }
    }

    fn is_end(self) -> bool {
        !matches!(self, Self::GoesBack { .. })
    }

    /// As the statement calls it.
    fn action(self) -> i16 {
        match self {
            Self::GoesBack { .. } => GOES_BACK,
            Self::Cancelled => CANCELLED,
            Self::Dead => DEAD,
        }
    }

    fn wait_seconds(self) -> i32 {
        if let Self::GoesBack { wait_seconds } = self { wait_seconds } else { 0 }
    }
}

const GOES_BACK: i16 = 0;
const CANCELLED: i16 = 4;
const DEAD: i16 = 5;

/// A job that is taken back, and whom from.
struct Taken {
    id: JobId,
    worker_id: WorkerId,
    fate: Fate,
}

/// What workers that are gone have claimed, a portion of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeadClaims {
    /// Their claims, in order.
    pub(crate) batches: Vec<ClaimBatchId>,
    /// The jobs of these that they hold still, and who.
    pub(crate) jobs: Vec<(JobId, WorkerId)>,
}

/// The next `most` claims of workers that are gone, after one of them. By a cursor, because those of which a job cannot be taken back yet
/// would hide all others.
///
/// # Errors
/// When the database is away.
pub(crate) async fn dead_claims(
    connection: &mut PgConnection,
    after: Option<ClaimBatchId>,
    most: i64,
) -> Result<DeadClaims, QueueError> {
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
        most,
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

/// Forgets those of the claims of which nothing is held any more.
///
/// # Errors
/// When the database is away.
pub(crate) async fn forget_dead_claims(
    connection: &mut PgConnection,
    batches: &[ClaimBatchId],
) -> Result<(), QueueError> {
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

/// Sweeps up to `most` claim batches of workers whose lease has run out. Call it in a transaction, again while it finds something.
///
/// # Errors
/// When the database is away, or the statement lost a race: nothing is changed, sweep again.
pub async fn lose_of_dead_workers(connection: &mut PgConnection, most: i64) -> Result<Lost, QueueError> {
    let found = dead_claims(connection, None, most).await?;
    let lost = lose(connection, &found.jobs).await?;
    forget_dead_claims(connection, &found.batches).await?;
    Ok(lost)
}

/// Takes jobs back from workers that are gone; those that somebody else holds right now, themselves or the key that they would leave, are
/// passed over. Call it in a transaction.
///
/// # Errors
/// When the database is away, refuses one of them, or the statement lost a race: nothing is changed.
pub(crate) async fn lose(
    connection: &mut PgConnection,
    jobs: &[(JobId, WorkerId)],
) -> Result<Lost, QueueError> {
    struct Row {
        id: JobId,
        integration_id: IntegrationId,
        serialize_key: Option<String>,
        action: i16,
        successor_key: Option<String>,
    }
    let taken = with_free_keys(connection, jobs).await?;
    let rows = sqlx::query_file_as!(
        Row,
        "src/store/jobs/lose.sql",
        &column(&taken, |one| one.id.0),
        &column(&taken, |one| one.worker_id.0),
        &column(&taken, |one| one.fate.action()),
        &column(&taken, |one| one.fate.wait_seconds()),
        cause_of(None, "The worker vanished.").to_string(),
    )
    .fetch_all(&mut *connection)
    .await?;
    let ended: Vec<&Row> = rows.iter().filter(|row| row.action != GOES_BACK).collect();
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
    let (dead, given_back) = (ended.len() - cancelled, rows.len() - ended.len());
    Ok(Lost { given_back: given_back as u64, dead: dead as u64, cancelled: cancelled as u64 })
}

/// Those of the jobs of which the sweep needs no key that somebody else holds, and what becomes of them; their rows are locked now, and the
/// keys of those that end.
///
/// A producer that stands in a key's line holds it until it commits. A job that ends moves its line on, and has to wait for that; a sweep
/// that waited would keep all others waiting too. Which keys are needed is known only with the job's row: so they come after it, against
/// the order of locks, which is no matter where nothing is waited for.
async fn with_free_keys(
    connection: &mut PgConnection,
    jobs: &[(JobId, WorkerId)],
) -> Result<Vec<Taken>, QueueError> {
    let rows = sqlx::query!(
        r#"
        select g.id as "id!: JobId", g.worker_id as "worker_id!: WorkerId", j.integration_id as "integration_id!: IntegrationId",
            j.serialize_key, j.successor ->> 'serialize_key' as successor_key, j.lost_leases + 1 as "lost_leases!",
            coalesce(j.cancel_requested_of = j.assignment_id, false) as "is_called_off!",
            -- Whom `headgate` itself serves, it delivers for.
            coalesce((
                select l.served_by is not null or l.is_external from headgate.lanes l where l.integration_id = j.integration_id
            ), false) as "may_end_processes!"
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
    let mut taken = Vec::with_capacity(rows.len());
    for row in rows {
        let fate = Fate::of(row.is_called_off, row.lost_leases, row.may_end_processes);
        if fate.is_end() {
            for key in [row.serialize_key, row.successor_key].into_iter().flatten() {
                needed.push((row.id, row.integration_id, key));
            }
        }
        taken.push(Taken { id: row.id, worker_id: row.worker_id, fate });
    }
    let held = keys::lock_free(connection, &needed).await?;
    taken.retain(|one| !held.contains(&one.id));
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_goes_back_however_often_and_waits_longer_each_time() {
        let waits = |lost_leases| Fate::of(false, lost_leases, false).wait_seconds();
        let all: Vec<i32> = (1..=12).map(waits).collect();
        assert_eq!(all, [0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300]);
        assert_eq!(Fate::of(false, 32_000, false), Fate::GoesBack { wait_seconds: LONGEST_WAIT_SECONDS });
    }

    #[test]
    fn a_job_of_a_program_is_given_up_the_third_time_and_one_that_was_called_off_ends() {
        let fates = [1, 2, 3].map(|lost_leases| Fate::of(false, lost_leases, true));
        let at_once = Fate::GoesBack { wait_seconds: 0 };
        assert_eq!(fates, [at_once, at_once, Fate::Dead]);
        assert_eq!(Fate::of(true, 3, true), Fate::Cancelled);
    }
}
