//! Due jobs become claimable.

use crate::{error::QueueError, store::leader::Term};
use model::id::WorkerId;
use sqlx::PgPool;

/// What a promotion did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promoted {
    /// Jobs moved.
    pub count: i32,
    /// When the next is due, from now; none when nothing waits.
    pub next_in_ms: Option<u64>,
}

/// Moves up to `most` due jobs from `waiting` to `ready`.
///
/// # Errors
/// When the database cannot be asked.
pub async fn promote_due(pool: &PgPool, term: Term, most: i32) -> Result<Promoted, QueueError> {
    // Two statements: the second must see what the first took away.
    let count = sqlx::query_scalar!(
        r#"select headgate.promote_due($3) as "count!" where (select headgate.is_leader($1, $2))"#,
        term.holder as WorkerId,
        term.number,
        most,
    )
    .fetch_optional(pool)
    .await?
    .unwrap_or(0);
    let next_in_ms = sqlx::query_scalar!(
        r#"
        select (extract(epoch from min(due_at) - clock_timestamp()) * 1000)::bigint as next_in_ms
        from headgate.waiting
        "#
    )
    .fetch_one(pool)
    .await?
    .map(|ms| u64::try_from(ms).unwrap_or(0));
    Ok(Promoted { count, next_in_ms })
}

/// Wakes lanes that sleep although they have work: an entry of `ready` that was committed seconds after it was made. Answers how many.
///
/// # Errors
/// When the database cannot be asked.
pub async fn wake_forgotten(pool: &PgPool) -> Result<i32, QueueError> {
    // Harmless by whomever it is done: no term is tested.
    let woken =
        sqlx::query_scalar!(r#"select headgate.wake_forgotten() as "woken!""#).fetch_one(pool).await?;
    Ok(woken)
}
