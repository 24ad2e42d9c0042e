//! Runs bulk operations in portions.
//!
//! The row has the progress (cursor, pace), so a new leader continues where the last one stopped.

use super::apply::{GROUP, is_race};
use super::group::{GroupRun, Runner};
use super::read;
use super::selection::{Selection, Undone};
use crate::store::stored_name::parse_stored;
use model::actor::Scope;
use model::filter::JobFilter;
use model::id::{AppId, OperationId, WorkerId};
use model::operation::{BulkAction, Operation};
use queue::{error::QueueError, store::leader::Term, wake_all};
use sqlx::{PgPool, types::Json};
use uuid::Uuid;

/// Rows read together.
const PORTION: i64 = 500;

/// Starts the held operations whose hold is over; returns how many.
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

/// A running operation, and how long it has to wait to keep its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunningOperation {
    /// The operation.
    pub id: OperationId,
    /// Until its next portion may begin; 0: now.
    pub wait_ms: i64,
}

/// Every running operation, the oldest first.
pub async fn running(pool: &PgPool) -> Result<Vec<RunningOperation>, QueueError> {
    let running = sqlx::query_as!(
        RunningOperation,
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

/// Runs one portion; true when the operation has more to do and need not wait. On an error, what was done until then is committed and counted.
pub async fn run_portion(pool: &PgPool, term: Term, id: OperationId) -> Result<bool, QueueError> {
    run_portion_by(pool, Runner::Leader(term), id).await
}

/// Runs a small operation to its end, in its request. If that fails, what was done until then is committed and counted, and the leader
/// continues after a while.
pub(super) async fn run_now(pool: &PgPool, scope: Scope, id: OperationId) -> Result<Operation, QueueError> {
    while run_portion_by(pool, Runner::Request, id).await? {}
    read::get(pool, scope, id).await
}

async fn run_portion_by(pool: &PgPool, runner: Runner, id: OperationId) -> Result<bool, QueueError> {
    let Some(Plan { selection, mut cursor, upper_id, rate, late }) = plan(pool, runner, id).await? else {
        return Ok(false);
    };
    let limit = rate.map_or(PORTION, |rate| paced_portion(rate, late));
    let ids = selection.ids(pool, cursor, upper_id, limit).await?;
    let is_last = i64::try_from(ids.len()).is_ok_and(|found| found < limit);
    let mut changed = 0;
    let mut left = ids.as_slice();
    let mut size = GROUP;
    let mut races = 0;
    while !left.is_empty() {
        let (group, rest) = left.split_at(size.min(left.len()));
        let run = GroupRun { operation_id: id, runner, cursor, rate };
        match run.apply(pool, &selection, group).await {
            Ok(Some(tally)) => changed += tally.changed,
            // Paused, aborted, or another process leads now.
            Ok(None) => return Ok(false),
            Err(error @ (QueueError::Unavailable(_) | QueueError::Timeout)) => return Err(error),
            // Row by row only the one in question fails or waits.
            Err(_) if size > 1 => {
                size = 1;
                continue;
            }
            // A worker was faster. (After 20 races in a row with the same row, something is wrong with that row.)
            Err(error) if is_race(&error) && races < 20 => {
                races += 1;
                continue;
            }
            // One row that cannot be changed must not block the rest for ever.
            Err(error) => run.skip(pool, group, &error).await?,
        }
        cursor = group.last().copied();
        left = rest;
        races = 0;
    }
    // Actions that put jobs into the queue: a requeue, or the undo of a cancel.
    if matches!(selection.action, BulkAction::Requeue | BulkAction::Undo) && changed > 0 {
        wake_all(pool).await?;
    }
    if is_last {
        finish(pool, runner, id, cursor).await?;
        return Ok(false);
    }
    Ok(rate.is_none())
}

/// The portion of an operation with a rate: rows for a quarter of a second, so that the pace is even, and for the time it is late, up to a second.
fn paced_portion(rate: i32, late_seconds: f64) -> i64 {
    ((f64::from(rate) * (0.25 + late_seconds.clamp(0.0, 1.0))) as i64).max(1)
}

struct Plan {
    selection: Selection,
    cursor: Option<Uuid>,
    upper_id: Uuid,
    rate: Option<i32>,
    /// Seconds since the next portion was due.
    late: f64,
}

async fn plan(pool: &PgPool, runner: Runner, id: OperationId) -> Result<Option<Plan>, QueueError> {
    let Some(row) = sqlx::query!(
        r#"
        select o.subject, o.action, o.filter as "filter: Json<JobFilter>", o.ids, o.app_id as "app_id: AppId", o.cursor_id, o.upper_id,
            o.rate_per_second, coalesce(extract(epoch from clock_timestamp() - o.paced_until), 0)::float8 as "late!",
            o.undoes as "undoes: OperationId", u.action as "undone_action?"
        from headgate.operations o
        left join headgate.operations u on u.id = o.undoes
        where o.id = $1 and o.state = 'running' and ($2 or o.paced_until is null or o.paced_until <= clock_timestamp())
        "#,
        id as OperationId,
        matches!(runner, Runner::Request),
    )
    .fetch_optional(pool)
    .await?
    else {
        return Ok(None);
    };
    let undoes = match row.undoes.zip(row.undone_action) {
        Some((id, action)) => Some(Undone { id, action: parse_stored(&action)? }),
        None => None,
    };
    let selection = Selection {
        subject: parse_stored(&row.subject)?,
        action: parse_stored(&row.action)?,
        scope: row.app_id.map_or(Scope::AllApps, Scope::App),
        ids: row.ids,
        filter: row.filter.0,
        undoes,
    };
    let (cursor, upper_id) = (row.cursor_id, row.upper_id);
    Ok(Some(Plan { selection, cursor, upper_id, rate: row.rate_per_second, late: row.late }))
}

/// Ends an operation: jobs that ended by themselves after the count are counted as skipped.
async fn finish(
    pool: &PgPool,
    runner: Runner,
    id: OperationId,
    cursor: Option<Uuid>,
) -> Result<(), QueueError> {
    sqlx::query!(
        r#"
        update headgate.operations
        set state = 'done', finished_at = clock_timestamp(), skipped = greatest(skipped, matched - changed),
            skipped_reasons = case
                when matched - changed > skipped
                    then skipped_reasons || jsonb_build_object('moved_on', matched - changed - skipped)
                else skipped_reasons
            end
        where id = $1 and state = 'running' and cursor_id is not distinct from $2
            and ($3::uuid is null or (select headgate.is_leader($3, $4)))
        "#,
        id as OperationId,
        cursor,
        runner.holder() as Option<WorkerId>,
        runner.number(),
    )
    .execute(pool)
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::paced_portion;

    #[test]
    fn an_operation_that_is_late_catches_up_by_at_most_a_second() {
        for (rate, late, rows) in [(20, 0.0, 5), (20, 0.25, 10), (20, 60.0, 25), (1, 0.0, 1), (3, 0.5, 2)] {
            assert_eq!(paced_portion(rate, late), rows, "{rate} {late}");
        }
    }
}
