//! The progress of the recount, stored so that a new leader continues where the last one stopped.

use crate::{error::Result, store::leader::Term};
use chrono::{DateTime, Utc};
use model::id::WorkerId;
use serde::{Deserialize, Serialize};
use sqlx::{PgConnection, PgPool};
use std::time::Duration;
use uuid::Uuid;

/// A round of the recount that is not finished.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// The name of the counters that are being proven ([`crate::maintenance::Counters`]); none: those of jobs, which come first.
    pub stage: Option<String>,
    /// The parts of the stage up to this one are done: integrations, apps, causes of failures.
    pub cursor: Uuid,
    /// Parts proven so far.
    pub proven: i32,
    /// Those that could not be proven.
    pub unproven: i32,
    /// By how many jobs, records and failures counters were wrong.
    pub drift: i64,
}

impl Round {
    /// Adds the result of a part: by how many its counters were wrong, none if they could not be proven.
    pub(crate) fn add(&mut self, off_by: Option<i64>) {
        match off_by {
            Some(off_by) => {
                self.proven += 1;
                self.drift += off_by;
            }
            None => self.unproven += 1,
        }
    }
}

/// The unfinished round, or a new one if the last ended long enough ago; none if no round is due.
pub async fn current(
    connection: &mut PgConnection,
    every: Duration,
    may_begin: bool,
) -> Result<Option<Round>> {
    let row = sqlx::query!(
        r#"
        select cursor, stage, proven, unproven, drift, began_at is not null as "is_under_way!",
            coalesce(finished_at < clock_timestamp() - make_interval(secs => $1), true) as "is_due!"
        from headgate.recounts
        "#,
        every.as_secs_f64(),
    )
    .fetch_one(connection)
    .await?;
    Ok(if row.is_under_way {
        Some(Round {
            stage: row.stage,
            cursor: row.cursor.unwrap_or_default(),
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
    round: &Round,
    newly_repaired: i64,
    is_over: bool,
) -> Result<()> {
    sqlx::query!(
        r#"
        update headgate.recounts set
            cursor = case when not $8 then $3::uuid end, stage = case when not $8 then $4 end,
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
        round.stage,
        round.proven,
        round.unproven,
        round.drift,
        is_over,
        newly_repaired,
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
pub async fn last(pool: &PgPool) -> Result<LastRecount> {
    let last = sqlx::query_as!(
        LastRecount,
        "select finished_at, last_proven as proven, last_unproven as unproven, last_drift as drift, repaired from headgate.recounts"
    )
    .fetch_one(pool)
    .await?;
    Ok(last)
}
