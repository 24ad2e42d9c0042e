//! The leader's lease: one row, by the database's clock.
//!
//! A session lock would stay with a suspended process for ever; a lease that has ended is taken over. Each take-over raises the term, and
//! every maintenance write tests `headgate.is_leader(holder, term)` inside its own statement, so that a process that resumes too
//! late writes nothing.

use crate::error::{QueueError, Result};
use model::id::WorkerId;
use sqlx::{PgConnection, PgExecutor};
use std::time::Duration;

/// One process's time as the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    pub holder: WorkerId,
    /// Higher than every term before.
    pub number: i64,
}

/// A process that wants to lead.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    pub holder: WorkerId,
    /// How many services it runs.
    pub services: i16,
}

impl From<WorkerId> for Candidate {
    /// One that never takes over from a living leader.
    fn from(holder: WorkerId) -> Self {
        Self { holder, services: 0 }
    }
}

/// Becomes the leader when there is none, when its lease has ended, or when it runs fewer services than the candidate.
pub async fn acquire(
    conn: &mut PgConnection,
    candidate: impl Into<Candidate>,
    lease: Duration,
) -> Result<Option<Term>> {
    let Candidate { holder, services } = candidate.into();
    // On conflict the end is computed again, after the wait for the row lock: `excluded.expires_at` would be too early by that wait.
    let number = sqlx::query_scalar!(
        r#"
        insert into headgate.leader as l (holder, term, services, expires_at)
        values ($1, 1, $3, clock_timestamp() + make_interval(secs => $2))
        on conflict (is_only) do update
        set holder = excluded.holder, term = l.term + 1, services = excluded.services,
            expires_at = clock_timestamp() + make_interval(secs => $2)
        where l.expires_at <= clock_timestamp() or l.services < excluded.services
        returning term
        "#,
        holder as WorkerId,
        lease.as_secs_f64(),
        services,
    )
    .fetch_optional(conn)
    .await?;
    Ok(number.map(|number| Term { holder, number }))
}

/// Renews the lease; false, and nothing is changed, when it has ended or was taken over.
pub async fn renew(conn: &mut PgConnection, term: Term, lease: Duration) -> Result<bool> {
    let renewed = sqlx::query!(
        r#"
        update headgate.leader
        set expires_at = clock_timestamp() + make_interval(secs => $3)
        where holder = $1 and term = $2 and expires_at > clock_timestamp()
        "#,
        term.holder as WorkerId,
        term.number,
        lease.as_secs_f64(),
    )
    .execute(conn)
    .await?;
    Ok(renewed.rows_affected() == 1)
}

/// Releases the lease, so that another process need not wait for its end.
pub async fn release(conn: &mut PgConnection, term: Term) -> Result<()> {
    sqlx::query!(
        "update headgate.leader set expires_at = clock_timestamp() where holder = $1 and term = $2",
        term.holder as WorkerId,
        term.number,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// How long there has been no leader; none while there is one. A deployment that never had one counts from 1970.
pub async fn absent_for(db: impl PgExecutor<'_>) -> Result<Option<Duration>> {
    let seconds = sqlx::query_scalar!(
        r#"
        select extract(epoch from clock_timestamp() - coalesce(max(expires_at), to_timestamp(0)))::float8 as "seconds!"
        from headgate.leader
        "#
    )
    .fetch_one(db)
    .await?;
    Ok((seconds > 0.0).then(|| Duration::from_secs_f64(seconds)))
}

/// Confirms the leadership before writes whose statements do not test it themselves, in the same transaction.
///
/// A process that is suspended right after this answer would write when it resumes, long after another took over. So Postgres ends the
/// transaction when it idles for longer than the rest of the lease (15 s at most, as every idle one).
///
/// # Errors
/// `TermOver` when the term is over.
pub async fn confirm(conn: &mut PgConnection, term: Term) -> Result<()> {
    let timeout = sqlx::query_scalar!(
        r#"
        select set_config(
            'idle_in_transaction_session_timeout',
            least(greatest((extract(epoch from expires_at - clock_timestamp()) * 1000)::bigint, 1), 15000)::text,
            true
        )
        from headgate.leader
        where holder = $1 and term = $2 and expires_at > clock_timestamp()
        "#,
        term.holder as WorkerId,
        term.number,
    )
    .fetch_optional(conn)
    .await?;
    timeout.map(|_| ()).ok_or(QueueError::TermOver)
}
