//! Holding the jobs of a paused batch, and letting them go.
//!
//! A held job is live and keeps its status, but stands in neither `ready` nor `waiting`: nothing finds it until it is let go. Whether a
//! batch is paused says its row; a claim holds what it meets of one that is. Holding and letting go follow that portion by portion, as
//! often as they are asked to, and may be broken off anywhere. What `follows_batch` says no more (a live change came, or someone requeued the job by hand) is not held.

use super::entries::enter_queue;
use crate::error::QueueError;
use model::{
    actor::Scope,
    id::{AppId, BatchId, JobId},
};
use sqlx::{PgConnection, PgPool};

/// Holds up to `most` waiting jobs of a batch that is paused; those being processed are held when they come back. Answers how many: call it
/// again while it is `most`, each time in a transaction of its own, and from time to time as long as the batch is paused.
///
/// # Errors
/// When the database is away, or refuses one of them.
pub async fn hold_of_batch(
    connection: &mut PgConnection,
    batch_id: BatchId,
    most: i64,
) -> Result<i64, QueueError> {
    probe_only(connection).await?;
    let ids = to_hold(connection, batch_id, most, &[]).await?;
    hold_these(connection, batch_id, &ids).await
}

/// Up to `most` waiting jobs of a batch that is paused, but for some: those to be held.
///
/// # Errors
/// When the database is away.
pub(crate) async fn to_hold(
    connection: &mut PgConnection,
    batch_id: BatchId,
    most: i64,
    but_for: &[JobId],
) -> Result<Vec<JobId>, QueueError> {
    let ids = sqlx::query_scalar!(
        r#"
        select j.id as "id: JobId" from headgate.jobs j
        where j.batch_id = $1 and j.follows_batch and not j.is_held and j.status <> 1 and j.successor is null and j.id <> all ($3)
            and exists (select 1 from headgate.batches b where b.id = $1 and b.is_paused)
        order by j.id
        limit $2
        "#,
        batch_id as BatchId,
        most,
        but_for as &[JobId],
    )
    .persistent(false)
    .fetch_all(connection)
    .await?;
    Ok(ids)
}

/// Holds those of these jobs that are to be held still and are free, as long as their batch is paused; answers how many. Call it in a
/// transaction that [probes only](probe_only), as those of [`BEGIN`](super::BEGIN) do.
///
/// # Errors
/// When the database is away, or refuses one of them: nothing is changed.
pub(crate) async fn hold_these(
    connection: &mut PgConnection,
    batch_id: BatchId,
    ids: &[JobId],
) -> Result<i64, QueueError> {
    let held = sqlx::query_file_scalar!("src/store/jobs/hold.sql", batch_id as BatchId, ids as &[JobId])
        .persistent(false)
        .fetch_one(connection)
        .await?;
    Ok(held)
}

/// Lets up to `most` held jobs of a batch go, unless it is paused, each to the place of its age. Answers how many: call it again while it
/// is `most`. Wake the workers after the commit.
///
/// # Errors
/// When the database is away, or refuses one of them.
pub async fn let_go_of_batch(
    connection: &mut PgConnection,
    batch_id: BatchId,
    most: i64,
) -> Result<i64, QueueError> {
    probe_only(connection).await?;
    let ids = to_let_go(connection, batch_id, most, &[]).await?;
    let_these_go(connection, batch_id, &ids).await
}

/// Up to `most` held jobs of a batch that is not paused, but for some: those to be let go.
///
/// # Errors
/// When the database is away.
pub(crate) async fn to_let_go(
    connection: &mut PgConnection,
    batch_id: BatchId,
    most: i64,
    but_for: &[JobId],
) -> Result<Vec<JobId>, QueueError> {
    let ids = sqlx::query_scalar!(
        r#"
        select j.id as "id: JobId" from headgate.jobs j
        where j.batch_id = $1 and j.is_held and j.id <> all ($3)
            and not exists (select 1 from headgate.batches b where b.id = $1 and b.is_paused)
        order by j.id
        limit $2
        "#,
        batch_id as BatchId,
        most,
        but_for as &[JobId],
    )
    .persistent(false)
    .fetch_all(connection)
    .await?;
    Ok(ids)
}

/// Lets those of these jobs go that are held still and are free, unless their batch is paused; answers how many. Call it in a transaction, as
/// [`hold_these`].
///
/// # Errors
/// When the database is away, or refuses one of them: nothing is changed.
pub(crate) async fn let_these_go(
    connection: &mut PgConnection,
    batch_id: BatchId,
    ids: &[JobId],
) -> Result<i64, QueueError> {
    let held = sqlx::query_scalar!(
        r#"
        select j.id as "id: JobId"
        from unnest($2::uuid[]) as g (id)
        cross join lateral (
            select j.id from headgate.jobs j
            where j.id = g.id and j.batch_id = $1 and j.is_held
                and not exists (select 1 from headgate.batches b where b.id = $1 and b.is_paused)
            for update of j skip locked offset 0
        ) j
        "#,
        batch_id as BatchId,
        ids as &[JobId],
    )
    .persistent(false)
    .fetch_all(&mut *connection)
    .await?;
    let freed = release(connection, Scope::AllApps, &held, false).await?;
    Ok(i64::try_from(freed.len()).unwrap_or(i64::MAX))
}

/// Batches that hold jobs and are not paused: one probe of the index per batch that holds any.
///
/// # Errors
/// When the database cannot be asked.
pub async fn batches_to_let_go(pool: &PgPool) -> Result<Vec<BatchId>, QueueError> {
    let batches = sqlx::query_scalar!(
        r#"
        with recursive holding (batch_id) as (
            (select j.batch_id from headgate.jobs j where j.is_held order by j.batch_id limit 1)
            union all
            select (
                select j.batch_id from headgate.jobs j
                where j.is_held and j.batch_id > h.batch_id
                order by j.batch_id limit 1
            )
            from holding h where h.batch_id is not null
        )
        select h.batch_id as "batch_id!: BatchId" from holding h
        where h.batch_id is not null and not exists (select 1 from headgate.batches b where b.id = h.batch_id and b.is_paused)
        "#,
    )
    .fetch_all(pool)
    .await?;
    Ok(batches)
}

/// Portions are taken and written by probes of indexes; a plan made for tables of another size must not read them whole instead.
pub(super) async fn probe_only(connection: &mut PgConnection) -> Result<(), QueueError> {
    sqlx::query!(
        r#"
        select set_config('enable_seqscan', 'off', true) as "seqscan!", set_config('enable_hashjoin', 'off', true) as "hashjoin!",
            set_config('enable_mergejoin', 'off', true) as "mergejoin!"
        "#
    )
    .fetch_one(connection)
    .await?;
    Ok(())
}

/// Lets jobs go into which someone just folded a change: the caller has their rows.
pub(super) async fn let_go(connection: &mut PgConnection, ids: &[JobId]) -> Result<(), QueueError> {
    release(connection, Scope::AllApps, ids, false).await?;
    Ok(())
}

/// Lets those of the jobs that are held go by themselves: their batch's pause is nothing to them any more. Answers which.
pub(super) async fn let_go_alone(
    connection: &mut PgConnection,
    scope: Scope,
    ids: &[JobId],
) -> Result<Vec<JobId>, QueueError> {
    release(connection, scope, ids, true).await
}

async fn release(
    connection: &mut PgConnection,
    scope: Scope,
    ids: &[JobId],
    is_alone: bool,
) -> Result<Vec<JobId>, QueueError> {
    let freed = sqlx::query_scalar!(
        r#"
        with wanted as materialized (
            select j.id from headgate.jobs j
            where j.id = any ($1) and j.is_held and ($2::uuid is null or j.app_id = $2)
            order by j.integration_id, j.deduplication_id collate "C" nulls last, j.id
        ), found as materialized (
            select j.id
            from wanted w
            cross join lateral (
                select j.id from headgate.jobs j where j.id = w.id and j.is_held
                for update offset 0
            ) j
        )
        update headgate.jobs j set is_held = false, follows_batch = j.follows_batch and not $3
        from found f where j.id = f.id
        returning j.id as "id: JobId"
        "#,
        ids as &[JobId],
        scope.app_id() as Option<AppId>,
        is_alone,
    )
    // Planned for the tables as they are: see `finish::BEGIN`.
    .persistent(false)
    .fetch_all(&mut *connection)
    .await?;
    enter_queue(connection, &freed).await?;
    Ok(freed)
}
