//! The progress of the recount, stored so that a new leader continues where the last one stopped.

use crate::{error::QueueError, store::leader::Term};
use chrono::{DateTime, Utc};
use model::id::WorkerId;
use serde::{Deserialize, Serialize};
use sqlx::{PgConnection, PgPool};
use std::time::Duration;
use uuid::Uuid;

/// A round of the recount that is not finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Integrations, then apps, then causes of failures up to this one are done. A cause is in the first half of the id.
    pub cursor: Uuid,
    /// Whether all integrations are done.
    pub is_at_records: bool,
    /// Whether all apps are done, too.
    pub is_at_failures: bool,
    /// Integrations, apps and causes proven so far.
    pub proven: i32,
    /// Those that could not be proven.
    pub unproven: i32,
    /// By how many jobs, records and failures counters were wrong.
    pub drift: i64,
}

/// The unfinished round, or a new one if the last ended long enough ago; none if no round is due.
pub async fn current(
    connection: &mut PgConnection,
    every: Duration,
    may_begin: bool,
) -> Result<Option<Round>, QueueError> {
    let row = sqlx::query!(
        r#"
        select cursor, is_at_records, is_at_failures, proven, unproven, drift, began_at is not null as "is_under_way!",
            coalesce(finished_at < clock_timestamp() - make_interval(secs => $1), true) as "is_due!"
        from headgate.recounts
        "#,
        every.as_secs_f64(),
    )
    .fetch_one(connection)
    .await?;
    Ok(if row.is_under_way {
        Some(Round {
            cursor: row.cursor.unwrap_or_default(),
            is_at_records: row.is_at_records,
            is_at_failures: row.is_at_failures,
            proven: row.proven,
            unproven: row.unproven,
            drift: row.drift,
        })
    } else {
        (row.is_due && may_begin).then(Round::default)
    })
}

/// Stores the progress of a round; with `is_over` its numbers become those of the last round.
pub async fn save(
    connection: &mut PgConnection,
    term: Term,
    round: Round,
    newly_repaired: i64,
    is_over: bool,
) -> Result<(), QueueError> {
    sqlx::query!(
        r#"
        update headgate.recounts set
            cursor = case when not $8 then $3::uuid end, is_at_records = $4 and not $8, is_at_failures = $10 and not $8,
            began_at = case when not $8 then coalesce(began_at, clock_timestamp()) end,
            proven = case when $8 then 0 else $5 end, unproven = case when $8 then 0 else $6 end,
            drift = case when $8 then 0 else $7::bigint end,
            finished_at = case when $8 then clock_timestamp() else finished_at end,
            last_proven = case when $8 then $5 else last_proven end, last_unproven = case when $8 then $6 else last_unproven end,
            last_drift = case when $8 then $7 else last_drift end,
            repaired = repaired + $9::bigint
        where (select headgate.is_leader($1, $2))
        "#,
        term.holder as WorkerId,
        term.number,
        round.cursor,
        round.is_at_records,
        round.proven,
        round.unproven,
        round.drift,
        is_over,
        newly_repaired,
        round.is_at_failures,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The result of the last finished round.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastRecount {
    /// When it ended; none before the first.
    pub finished_at: Option<DateTime<Utc>>,
    /// Integrations (apps for their records, causes for their failures) whose counters were proven.
    pub proven: i32,
    /// Those that would have taken too long.
    pub unproven: i32,
    /// By how many jobs, records and failures counters were wrong, before they were corrected.
    pub drift: i64,
    /// The same over all rounds, the unfinished one included.
    pub repaired: i64,
}

/// The result of the last finished round.
pub async fn last(pool: &PgPool) -> Result<LastRecount, QueueError> {
    let last = sqlx::query_as!(
        LastRecount,
        "select finished_at, last_proven as proven, last_unproven as unproven, last_drift as drift, repaired from headgate.recounts"
    )
    .fetch_one(pool)
    .await?;
    Ok(last)
}
