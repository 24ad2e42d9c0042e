//! The leader's lease: one row on the database's clock.
//!
//! A session lock would stay with a stopped process for ever; a row with an end is taken over. Each take-over raises the term, and
//! every maintenance write tests `headgate.is_leader(holder, term)` inside its own statement, so that a process that wakes up too
//! late writes nothing.

use crate::error::QueueError;
use model::id::WorkerId;
use sqlx::{PgConnection, PgPool};
use std::time::Duration;

/// One holder's time as the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// The process.
    pub holder: WorkerId,
    /// Higher than every term before.
    pub number: i64,
}

/// Becomes the leader when nobody is, or when the lease of whoever was has ended.
///
/// # Errors
/// When the database cannot be asked.
pub async fn take(
    conn: &mut PgConnection,
    holder: WorkerId,
    lease: Duration,
) -> Result<Option<Term>, QueueError> {
    // The end is computed after the row lock was waited for: the proposed row's time would be too early by that wait.
    let number = sqlx::query_scalar!(
        r#"
        insert into headgate.leader as l (holder, term, expires_at)
        values ($1, 1, clock_timestamp() + make_interval(secs => $2))
        on conflict (is_only) do update
        set holder = excluded.holder, term = l.term + 1, expires_at = clock_timestamp() + make_interval(secs => $2)
        where l.expires_at <= clock_timestamp()
        returning term
        "#,
        holder as WorkerId,
        lease.as_secs_f64(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(number.map(|number| Term { holder, number }))
}

/// Prolongs the lease; false when it has ended or was taken over, and then nothing was changed.
///
/// # Errors
/// When the database cannot be asked.
pub async fn renew(conn: &mut PgConnection, term: Term, lease: Duration) -> Result<bool, QueueError> {
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

/// Gives the lease back, so that another process need not wait for its end.
///
/// # Errors
/// When the database cannot be asked.
pub async fn release(conn: &mut PgConnection, term: Term) -> Result<(), QueueError> {
    sqlx::query!(
        "update headgate.leader set expires_at = clock_timestamp() where holder = $1 and term = $2",
        term.holder as WorkerId,
        term.number,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// How long nobody has led; none while somebody does. A deployment in which nobody ever did counts from 1970.
///
/// # Errors
/// When the database cannot be asked.
pub async fn absent_for(pool: &PgPool) -> Result<Option<Duration>, QueueError> {
    let seconds = sqlx::query_scalar!(
        r#"
        select extract(epoch from clock_timestamp() - coalesce(max(expires_at), to_timestamp(0)))::float8 as "seconds!"
        from headgate.leader
        "#
    )
    .fetch_one(pool)
    .await?;
    Ok((seconds > 0.0).then(|| Duration::from_secs_f64(seconds)))
}

/// For maintenance whose statements are not its own: asked in the same transaction, before the write.
///
/// A process that is stopped right behind this answer would write when it goes on, long after another took over. So the server ends a
/// transaction that does nothing for as long as the lease has left (15 s at most, as every idle one).
///
/// # Errors
/// `LeaseLost` when the term is over.
pub async fn confirm(conn: &mut PgConnection, term: Term) -> Result<(), QueueError> {
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
    timeout.map(|_| ()).ok_or(QueueError::LeaseLost)
}
