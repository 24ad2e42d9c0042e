//! Parking the jobs of a paused batch, and resuming them.
//!
//! A parked job (`is_parked`) is live and keeps its status, but has no entry in `ready` or `waiting`: nothing finds it until it is resumed. The
//! batch's row says whether it is paused; a claim parks jobs of a paused batch that it comes across. The functions here follow the row portion by
//! portion, can be called any number of times, and may be interrupted anywhere. A job without `follows_batch` (a live change was folded into
//! it, or somebody requeued it) is not parked.

use crate::{error::Result, store::jobs::rows::enter_queue};
use model::actor::Scope;
use model::id::{AppId, BatchId, JobId};
use sqlx::{PgConnection, PgPool};

/// Parks up to `limit` waiting jobs of a batch that is paused; those being processed are parked when they go back to the queue. Returns how many:
/// call it again while that is `limit`, each time in a transaction of its own, and from time to time as long as the batch is paused.
///
/// # Errors
/// When the database refuses one of them.
pub async fn park_batch(connection: &mut PgConnection, batch_id: BatchId, limit: i64) -> Result<i64> {
    probe_only(connection).await?;
    let ids = jobs_to_park(connection, batch_id, limit, &[]).await?;
    park_these(connection, batch_id, &ids).await
}

/// Up to `limit` waiting jobs of a paused batch that are not parked yet, without the excluded ones.
pub(crate) async fn jobs_to_park(
    connection: &mut PgConnection,
    batch_id: BatchId,
    limit: i64,
    excluded: &[JobId],
) -> Result<Vec<JobId>> {
    let ids = sqlx::query_scalar!(
        r#"
        select j.id as "id: JobId" from headgate.jobs j
        where j.batch_id = $1 and j.follows_batch and not j.is_parked and j.status <> 1 and j.successor is null and j.id <> all ($3)
            and exists (select 1 from headgate.batches b where b.id = $1 and b.is_paused)
        order by j.id
        limit $2
        "#,
        batch_id as BatchId,
        limit,
        excluded as &[JobId],
    )
    .persistent(false)
    .fetch_all(connection)
    .await?;
    Ok(ids)
}

/// Parks those of these jobs that still have to be and are not locked, if their batch is still paused; returns how many. Call it in a
/// transaction that [only probes](probe_only), as those of [`BEGIN`](crate::store::jobs::BEGIN) do.
///
/// # Errors
/// When the database refuses one of them: nothing is changed.
pub(crate) async fn park_these(
    connection: &mut PgConnection,
    batch_id: BatchId,
    ids: &[JobId],
) -> Result<i64> {
    let count =
        sqlx::query_file_scalar!("src/store/jobs/cancel/park.sql", batch_id as BatchId, ids as &[JobId])
            .persistent(false)
            .fetch_one(connection)
            .await?;
    Ok(count)
}

/// Resumes up to `limit` parked jobs of a batch, unless it is paused; each is queued by its age. Returns how many: call it again while that is
/// `limit`. Wake the workers after the commit.
///
/// # Errors
/// When the database refuses one of them.
pub async fn resume_batch(connection: &mut PgConnection, batch_id: BatchId, limit: i64) -> Result<i64> {
    probe_only(connection).await?;
    let ids = jobs_to_resume(connection, batch_id, limit, &[]).await?;
    resume_these(connection, batch_id, &ids).await
}

/// Up to `limit` parked jobs of a batch that is not paused, without the excluded ones.
pub(crate) async fn jobs_to_resume(
    connection: &mut PgConnection,
    batch_id: BatchId,
    limit: i64,
    excluded: &[JobId],
) -> Result<Vec<JobId>> {
    let ids = sqlx::query_scalar!(
        r#"
        select j.id as "id: JobId" from headgate.jobs j
        where j.batch_id = $1 and j.is_parked and j.id <> all ($3)
            and not exists (select 1 from headgate.batches b where b.id = $1 and b.is_paused)
        order by j.id
        limit $2
        "#,
        batch_id as BatchId,
        limit,
        excluded as &[JobId],
    )
    .persistent(false)
    .fetch_all(connection)
    .await?;
    Ok(ids)
}

/// Resumes those of these jobs that are still parked and not locked, unless their batch is paused; returns how many. Call it in a transaction, as
/// [`park_these`].
///
/// # Errors
/// When the database refuses one of them: nothing is changed.
pub(crate) async fn resume_these(
    connection: &mut PgConnection,
    batch_id: BatchId,
    ids: &[JobId],
) -> Result<i64> {
    let parked = sqlx::query_scalar!(
        r#"
        select j.id as "id: JobId"
        from unnest($2::uuid[]) as g (id)
        cross join lateral (
            select j.id from headgate.jobs j
            where j.id = g.id and j.batch_id = $1 and j.is_parked
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
    let resumed = unpark(connection, Scope::AllApps, &parked, false).await?;
    Ok(i64::try_from(resumed.len()).unwrap_or(i64::MAX))
}

/// Batches that have parked jobs and are not paused. It takes one probe of the index per batch that has any.
pub async fn batches_to_resume(pool: &PgPool) -> Result<Vec<BatchId>> {
    let batches = sqlx::query_scalar!(
        r#"
        with recursive with_parked (batch_id) as (
            (select j.batch_id from headgate.jobs j where j.is_parked order by j.batch_id limit 1)
            union all
            select (
                select j.batch_id from headgate.jobs j
                where j.is_parked and j.batch_id > p.batch_id
                order by j.batch_id limit 1
            )
            from with_parked p where p.batch_id is not null
        )
        select p.batch_id as "batch_id!: BatchId" from with_parked p
        where p.batch_id is not null and not exists (select 1 from headgate.batches b where b.id = p.batch_id and b.is_paused)
        "#,
    )
    .fetch_all(pool)
    .await?;
    Ok(batches)
}

/// Lets the planner only probe indexes: a plan made for tables of another size must not read whole tables for a portion.
pub(crate) async fn probe_only(connection: &mut PgConnection) -> Result<()> {
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

/// Resumes jobs into which a change was just folded. The caller has their rows locked.
pub(crate) async fn resume(connection: &mut PgConnection, ids: &[JobId]) -> Result<()> {
    unpark(connection, Scope::AllApps, ids, false).await?;
    Ok(())
}

/// Resumes those of the jobs that are parked and detaches them from their batch, so that its pause no longer applies to them. Returns which.
pub(crate) async fn resume_detached(
    connection: &mut PgConnection,
    scope: Scope,
    ids: &[JobId],
) -> Result<Vec<JobId>> {
    unpark(connection, scope, ids, true).await
}

async fn unpark(
    connection: &mut PgConnection,
    scope: Scope,
    ids: &[JobId],
    is_detached: bool,
) -> Result<Vec<JobId>> {
    let resumed = sqlx::query_scalar!(
        r#"
        with wanted as materialized (
            select j.id from headgate.jobs j
            where j.id = any ($1) and j.is_parked and ($2::uuid is null or j.app_id = $2)
            order by j.integration_id, j.deduplication_id collate "C" nulls last, j.id
        ), found as materialized (
            select j.id
            from wanted w
            cross join lateral (
                select j.id from headgate.jobs j where j.id = w.id and j.is_parked
                for update offset 0
            ) j
        )
        update headgate.jobs j set is_parked = false, follows_batch = j.follows_batch and not $3
        from found f where j.id = f.id
        returning j.id as "id: JobId"
        "#,
        ids as &[JobId],
        scope.app_id() as Option<AppId>,
        is_detached,
    )
    // Planned for the tables as they are: see `finish::BEGIN`.
    .persistent(false)
    .fetch_all(&mut *connection)
    .await?;
    enter_queue(connection, &resumed).await?;
    Ok(resumed)
}
