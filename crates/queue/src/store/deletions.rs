//! Deletions of apps and integrations.
//!
//! The rows of the app or the integration themselves go in the transaction that is asked for it, and with them everything that could be accepted or
//! sent. What is left behind (live jobs, dead letters, records and what was sent of them) may be millions of rows: it goes in portions, each in a short
//! transaction, until nothing is found any more. So whoever goes on after a crash needs to know nothing but whose rows they are, and people see no
//! more of them from the first moment on.

use crate::{
    error::QueueError,
    pool::probing_settings,
    store::{
        jobs,
        leader::{self, Term},
    },
};
use model::id::{AppId, IntegrationId, OperationId};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

/// Jobs called off, or rows deleted of each table, in one transaction.
const PORTION: i64 = 2_000;
/// Rows for whose deletion whoever asked waits, by the counters, and in how many portions: so a small deletion is over when it is answered.
const MOST_AT_ONCE: i64 = PORTION;
const AT_ONCE: usize = 8;
/// What a portion holds is nobody's any more, so that it may wait for whoever is at the same rows.
const BEGIN: &str = concat!(
    "begin isolation level read committed; ",
    probing_settings!("set local"),
    "; set local enable_bitmapscan = off; set local lock_timeout = '5s'"
);

/// What is deleted.
#[derive(Debug)]
pub struct NewDeletion<'a> {
    /// Whose, or the app itself.
    pub app_id: AppId,
    /// None: the app.
    pub integration_id: Option<IntegrationId>,
    /// Whose rows go: of an app all it has.
    pub integration_ids: &'a [Uuid],
    /// What it was called.
    pub name: &'a str,
    /// Who asked.
    pub requested_by: &'a str,
}

/// Notes what is going to be left behind; in the transaction that deletes the rows of app and integrations, and before it does.
///
/// # Errors
/// When the database is away.
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

/// Works off what is little, after the transaction of [`begin`]; true when nothing is left. What is much, or goes wrong, is left to the leader: the
/// deletion itself is done.
pub async fn work_off_at_once(pool: &PgPool, id: OperationId) -> bool {
    match try_at_once(pool, id).await {
        Ok(is_over) => is_over,
        Err(error) => {
            tracing::debug!(operation.id = %id, %error, "deletion {id} is left to the leader");
            false
        }
    }
}

async fn try_at_once(pool: &PgPool, id: OperationId) -> Result<bool, QueueError> {
    let matched =
        sqlx::query_scalar!("select matched from headgate.deletions where id = $1", id as OperationId)
            .fetch_one(pool)
            .await?;
    if matched > MOST_AT_ONCE {
        return Ok(false);
    }
    for _ in 0..AT_ONCE {
        if !work_off(pool, None, id).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Deletions that have left something behind.
///
/// # Errors
/// When the database is away.
pub async fn unfinished(pool: &PgPool) -> Result<Vec<OperationId>, QueueError> {
    let ids = sqlx::query_scalar!(
        r#"select id as "id: OperationId" from headgate.deletions where finished_at is null order by id"#
    )
    .fetch_all(pool)
    .await?;
    Ok(ids)
}

/// Works off one portion, for the leader of this term or for whoever asked; false when nothing is left.
///
/// # Errors
/// When the database is away, or somebody holds a row for too long: nothing of the portion is done, repeat.
pub async fn work_off(pool: &PgPool, term: Option<Term>, id: OperationId) -> Result<bool, QueueError> {
    let mut transaction = pool.begin_with(BEGIN).await?;
    if let Some(term) = term {
        leader::confirm(&mut transaction, term).await?;
    }
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
    let mut deleted = call_off(&mut transaction, &left.integration_ids).await?;
    if deleted == 0 {
        // No job is left that could be given up: what is deleted now does not come again.
        deleted = delete_rows(&mut transaction, left.app_id, &left.integration_ids).await?;
    }
    if deleted == 0 {
        forget_counters(&mut transaction, &left.integration_ids).await?;
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

/// Calls off live jobs of the first that has any; answers how many.
async fn call_off(connection: &mut PgConnection, integrations: &[Uuid]) -> Result<i64, QueueError> {
    let busy = sqlx::query_scalar!(
        r#"
        select o.id as "id!: IntegrationId" from unnest($1::uuid[]) o (id)
        cross join lateral (select from headgate.jobs j where j.integration_id = o.id limit 1) has_jobs
        limit 1
        "#,
        integrations,
    )
    .fetch_optional(&mut *connection)
    .await?;
    match busy {
        Some(id) => jobs::cancel_of_integration(connection, id, PORTION).await.map(u64::cast_signed),
        None => Ok(0),
    }
}

/// Deletes a portion of each table; answers how many rows.
async fn delete_rows(
    connection: &mut PgConnection,
    app_id: Option<AppId>,
    integrations: &[Uuid],
) -> Result<i64, QueueError> {
    let deleted = sqlx::query_scalar!(
        r#"
        with dead_letters as (
            delete from headgate.dead_letter_jobs where ctid = any (array(
                select x.place from unnest($1::uuid[]) o (id)
                cross join lateral (
                    select ctid as place from headgate.dead_letter_jobs where integration_id = o.id limit $3
                ) x
                limit $3
            ))
            returning integration_id, attempt
        ), counted as (
            insert into headgate.job_count_deltas (integration_id, status, attempt, n)
            select integration_id, 5, attempt, -count(*) from dead_letters group by integration_id, attempt
        ), binned as (
            delete from headgate.bin where ctid = any (array(
                select x.place from unnest($1::uuid[]) o (id)
                cross join lateral (select ctid as place from headgate.bin where integration_id = o.id limit $3) x
                limit $3
            ))
            returning 1
        ), sent as (
            delete from headgate.sent_records where ctid = any (array(
                select x.place from unnest($1::uuid[]) o (id)
                cross join lateral (
                    select ctid as place from headgate.sent_records where integration_id = o.id limit $3
                ) x
                limit $3
            ))
            returning 1
        ), unsure as (
            delete from headgate.unsure_records where ctid = any (array(
                select x.place from unnest($1::uuid[]) o (id)
                cross join lateral (
                    select ctid as place from headgate.unsure_records where integration_id = o.id limit $3
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
        select (select count(*) from dead_letters) + (select count(*) from binned) + (select count(*) from sent)
            + (select count(*) from unsure) + (select count(*) from catalog) as "deleted!"
        "#,
        integrations,
        app_id as Option<AppId>,
        PORTION,
    )
    .fetch_one(connection)
    .await?;
    Ok(deleted)
}

/// Of jobs and dead letters that are all gone. In the order in which a fold locks.
async fn forget_counters(connection: &mut PgConnection, integrations: &[Uuid]) -> Result<(), QueueError> {
    sqlx::query!("delete from headgate.job_count_deltas where integration_id = any ($1)", integrations)
        .execute(&mut *connection)
        .await?;
    sqlx::query!("delete from headgate.job_counts where integration_id = any ($1)", integrations)
        .execute(connection)
        .await?;
    Ok(())
}
