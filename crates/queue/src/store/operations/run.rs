//! Working off bulk actions, in chunks, by the leader.
//!
//! What is to be done next stands in the row (cursor, pace): whoever leads goes on where the last one stood.

use super::{
    apply::{GROUP, is_race},
    selection::Selection,
    turn::Turn,
};
use crate::{error::QueueError, store::leader::Term, wake};
use model::{
    actor::Scope,
    filter::JobFilter,
    id::{AppId, OperationId, WorkerId},
    operation::BulkAction,
};
use sqlx::{PgPool, types::Json};
use uuid::Uuid;

/// Rows looked up together.
const CHUNK: i64 = 500;

/// Moves on those whose hold is over; answers how many.
///
/// # Errors
/// When the database cannot be asked.
pub async fn begin_held(pool: &PgPool, term: Term) -> Result<u64, QueueError> {
    let begun = sqlx::query!(
        r#"
        update headgate.operations
        set state = 'running', started_at = coalesce(started_at, clock_timestamp())
        where finished_at is null and state = 'held' and hold_until <= clock_timestamp() and (select headgate.is_leader($1, $2))
        "#,
        term.holder as WorkerId,
        term.number,
    )
    .execute(pool)
    .await?;
    Ok(begun.rows_affected())
}

/// A running operation and how long its chosen rate makes it wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Which.
    pub id: OperationId,
    /// 0: its next chunk may begin.
    pub wait_ms: i64,
}

/// Every running operation, the oldest first.
///
/// # Errors
/// When the database cannot be asked.
pub async fn unfinished(pool: &PgPool) -> Result<Vec<Waiting>, QueueError> {
    let running = sqlx::query_as!(
        Waiting,
        r#"
        select id as "id: OperationId",
            coalesce(greatest(ceil(extract(epoch from paced_until - clock_timestamp()) * 1000), 0), 0)::bigint as "wait_ms!"
        from headgate.operations
        where finished_at is null and state = 'running'
        order by id
        "#
    )
    .fetch_all(pool)
    .await?;
    Ok(running)
}

/// Works off one chunk; true when the operation has more to do and may do so at once.
///
/// # Errors
/// When the database cannot be asked; what was done until then is done and counted.
pub async fn run_chunk(pool: &PgPool, term: Term, id: OperationId) -> Result<bool, QueueError> {
    let Some(Plan { selection, mut cursor, upper_id, rate }) = plan(pool, id).await? else {
        return Ok(false);
    };
    // With a chosen rate about a quarter of a second's worth, so that the pace is even.
    let most = rate.map_or(CHUNK, |rate| (i64::from(rate) / 4).max(1));
    let ids = selection.ids(pool, cursor, upper_id, most).await?;
    let is_last = i64::try_from(ids.len()).is_ok_and(|found| found < most);
    let mut changed = 0;
    let mut left = ids.as_slice();
    let mut size = GROUP;
    let mut races = 0;
    while !left.is_empty() {
        let (group, rest) = left.split_at(size.min(left.len()));
        let turn = Turn { operation_id: id, term, cursor, rate };
        match turn.run(pool, &selection, group).await {
            Ok(Some(tally)) => changed += tally.changed,
            // Paused, aborted, or another leader's now.
            Ok(None) => return Ok(false),
            Err(error @ (QueueError::Unavailable(_) | QueueError::Timeout)) => return Err(error),
            // Row by row only the one in question fails or waits.
            Err(_) if size > 1 => {
                size = 1;
                continue;
            }
            // A worker was faster. (So often in a row with one row: something is wrong with that row.)
            Err(error) if is_race(&error) && races < 20 => {
                races += 1;
                continue;
            }
            // One row that cannot be changed must not keep the rest waiting for ever.
            Err(error) => turn.pass_over(pool, group, &error).await?,
        }
        cursor = group.last().copied();
        left = rest;
        races = 0;
    }
    if selection.action == BulkAction::Requeue && changed > 0 {
        wake::all(pool).await?;
    }
    if is_last {
        finish(pool, term, id, cursor).await?;
        return Ok(false);
    }
    Ok(rate.is_none())
}

struct Plan {
    selection: Selection,
    cursor: Option<Uuid>,
    upper_id: Uuid,
    rate: Option<i32>,
}

async fn plan(pool: &PgPool, id: OperationId) -> Result<Option<Plan>, QueueError> {
    let Some(row) = sqlx::query!(
        r#"
        select subject, action, filter as "filter: Json<JobFilter>", ids, app_id as "app_id: AppId", cursor_id, upper_id, rate_per_second
        from headgate.operations
        where id = $1 and state = 'running' and (paced_until is null or paced_until <= clock_timestamp())
        "#,
        id as OperationId,
    )
    .fetch_optional(pool)
    .await?
    else {
        return Ok(None);
    };
    let unknown = |error: model::integration::UnknownName| sqlx::Error::Decode(Box::new(error));
    let selection = Selection {
        subject: row.subject.parse().map_err(unknown)?,
        action: row.action.parse().map_err(unknown)?,
        scope: row.app_id.map_or(Scope::AllApps, Scope::App),
        ids: row.ids,
        filter: row.filter.0,
    };
    Ok(Some(Plan { selection, cursor: row.cursor_id, upper_id: row.upper_id, rate: row.rate_per_second }))
}

/// The end: what came to its own end between the count and its turn was skipped.
async fn finish(pool: &PgPool, term: Term, id: OperationId, cursor: Option<Uuid>) -> Result<(), QueueError> {
    sqlx::query!(
        r#"
        update headgate.operations
        set state = 'done', finished_at = clock_timestamp(), skipped = greatest(skipped, matched - changed)
        where id = $1 and state = 'running' and cursor_id is not distinct from $2 and (select headgate.is_leader($3, $4))
        "#,
        id as OperationId,
        cursor,
        term.holder as WorkerId,
        term.number,
    )
    .execute(pool)
    .await?;
    Ok(())
}
