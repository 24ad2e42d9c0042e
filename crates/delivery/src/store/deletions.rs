//! Deletions of apps and integrations.
//!
//! The request's own transaction deletes the rows of the app or integrations, so that nothing more is accepted, sent or shown. What they leave behind
//! (live jobs, dead letters, records and their sent state) may be millions of rows: it is deleted in portions, each in a short transaction, until
//! nothing is found any more. What the engine has of it is deleted by [`queue::store::forget`]. A process that continues after a crash needs to know only whose rows they are.

use model::id::{AppId, IntegrationId, OperationId};
use queue::QueueError;
use queue::store::forget;
use queue::store::leader::Term;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

/// Jobs cancelled, or rows deleted of each table, in one transaction.
const PORTION: i64 = 2_000;
/// A deletion of at most so many rows (by the counters) is finished before its request is answered, in at most [`MAX_SYNCHRONOUS_PORTIONS`].
const MAX_SYNCHRONOUS_ROWS: i64 = PORTION;
const MAX_SYNCHRONOUS_PORTIONS: usize = 8;

/// What is deleted.
#[derive(Debug)]
pub struct NewDeletion<'a> {
    /// The app that is deleted, or the integration's.
    pub app_id: AppId,
    /// None: the app is deleted.
    pub integration_id: Option<IntegrationId>,
    /// The integrations whose rows are deleted: all of a deleted app.
    pub integration_ids: &'a [Uuid],
    /// The name of the app or integration.
    pub name: &'a str,
    /// The actor.
    pub requested_by: &'a str,
}

/// Records what will be left behind. Call it in the transaction that deletes the rows of app and integrations, before it does so.
pub async fn begin(connection: &mut PgConnection, new: &NewDeletion<'_>) -> Result<OperationId, QueueError> {
    let id = OperationId::generate();
    sqlx::query!(
        r#"
        insert into headgate.deletions (id, app_id, integration_id, integration_ids, name, requested_by, matched)
        select $1, $2, $3, $4, $5, $6, greatest(coalesce(sum(n), 0), 0)::bigint
        from (
            select n from headgate.job_counts where integration_id = any ($4)
            union all
            select n from headgate.job_count_deltas where integration_id = any ($4)
            union all
            select n from headgate.in_sync_counts where integration_id = any ($4)
            union all
            select n from headgate.in_sync_count_deltas where integration_id = any ($4)
            union all
            select n from headgate.record_counts where $3::uuid is null and app_id = $2
            union all
            select n from headgate.record_count_deltas where $3::uuid is null and app_id = $2
        ) counted
        "#,
        id as OperationId,
        new.app_id as AppId,
        new.integration_id as Option<IntegrationId>,
        new.integration_ids,
        new.name,
        new.requested_by,
    )
    .execute(connection)
    .await?;
    Ok(id)
}

/// Deletes the rest right away if it is small, after the transaction of [`begin`] has committed; true when nothing is left. Large rests, and those
/// whose deletion fails, are left to the leader.
pub async fn finish_if_small(pool: &PgPool, id: OperationId) -> bool {
    match try_at_once(pool, id).await {
        Ok(is_over) => is_over,
        Err(error) => {
            tracing::debug!(operation.id = %id, %error, "the leader will finish deletion {id}");
            false
        }
    }
}

async fn try_at_once(pool: &PgPool, id: OperationId) -> Result<bool, QueueError> {
    let matched =
        sqlx::query_scalar!("select matched from headgate.deletions where id = $1", id as OperationId)
            .fetch_one(pool)
            .await?;
    if matched > MAX_SYNCHRONOUS_ROWS {
        return Ok(false);
    }
    for _ in 0..MAX_SYNCHRONOUS_PORTIONS {
        if !delete_portion(pool, None, id).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Deletions that are not finished.
pub async fn unfinished(pool: &PgPool) -> Result<Vec<OperationId>, QueueError> {
    let ids = sqlx::query_scalar!(
        r#"select id as "id: OperationId" from headgate.deletions where finished_at is null order by id"#
    )
    .fetch_all(pool)
    .await?;
    Ok(ids)
}

/// Deletes one portion, for the leader of this term or (without a term) for the request; false when nothing is left. When another transaction keeps a row
/// locked for more than 5 s, nothing of the portion is done: repeat.
pub async fn delete_portion(pool: &PgPool, term: Option<Term>, id: OperationId) -> Result<bool, QueueError> {
    let mut transaction = forget::begin(pool, term).await?;
    let left = sqlx::query!(
        r#"
        select case when integration_id is null then app_id end as "app_id: AppId", integration_ids
        from headgate.deletions where id = $1 and finished_at is null
        for no key update
        "#,
        id as OperationId,
    )
    .fetch_optional(&mut *transaction)
    .await?;
    let Some(left) = left else { return Ok(false) };
    let mut deleted = forget::live_jobs(&mut transaction, &left.integration_ids, PORTION).await?;
    if deleted == 0 {
        // No job is left that could become a dead letter: what is deleted now does not come back.
        deleted = forget::dead_letters(&mut transaction, &left.integration_ids, PORTION).await?
            + delete_records(&mut transaction, left.app_id, &left.integration_ids).await?;
    }
    if deleted == 0 {
        forget::counters(&mut transaction, &left.integration_ids).await?;
    }
    sqlx::query!(
        r#"
        update headgate.deletions
        set deleted = deleted + $2, finished_at = case when $2 = 0 then clock_timestamp() end
        where id = $1
        "#,
        id as OperationId,
        deleted,
    )
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(deleted > 0)
}

/// Deletes a portion of the catalog and of each table of sent state; returns how many rows.
async fn delete_records(
    connection: &mut PgConnection,
    app_id: Option<AppId>,
    integrations: &[Uuid],
) -> Result<i64, QueueError> {
    let deleted = sqlx::query_scalar!(
        r#"
        with sent as (
            delete from headgate.sent_records where ctid = any (array(
                select x.place from unnest($1::uuid[]) o (id)
                cross join lateral (
                    select ctid as place from headgate.sent_records where integration_id = o.id limit $3
                ) x
                limit $3
            ))
            returning 1
        ), uncertain as (
            delete from headgate.uncertain_records where ctid = any (array(
                select x.place from unnest($1::uuid[]) o (id)
                cross join lateral (
                    select ctid as place from headgate.uncertain_records where integration_id = o.id limit $3
                ) x
                limit $3
            ))
            returning 1
        ), catalog as (
            delete from headgate.records where ctid = any (array(
                select ctid from headgate.records where app_id = $2 limit $3
            ))
            returning 1
        )
        select (select count(*) from sent) + (select count(*) from uncertain) + (select count(*) from catalog) as "deleted!"
        "#,
        integrations,
        app_id as Option<AppId>,
        PORTION,
    )
    .fetch_one(connection)
    .await?;
    Ok(deleted)
}
