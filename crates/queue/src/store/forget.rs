//! What the engine forgets of integrations that are deleted: live jobs, dead letters, counters. These may be millions of rows, so each call deletes a
//! portion; call it again until it returns 0. Finished jobs go with their partitions.

use crate::error::Result;
use crate::store::connections::lookup_settings;
use crate::store::jobs;
use crate::store::leader::{self, Term};
use model::id::IntegrationId;
use sqlx::{PgConnection, PgPool, Postgres, Transaction};
use uuid::Uuid;

/// Nobody waits for the rows that a portion locks, so it may itself wait for others that have locked them.
const BEGIN: &str = concat!(
    "begin isolation level read committed; ",
    lookup_settings!("set local"),
    "; set local enable_bitmapscan = off; set local lock_timeout = '5s'"
);

/// A transaction for one portion, of the leader of this term or (without a term) of the request that deletes.
pub async fn begin(pool: &PgPool, term: Option<Term>) -> Result<Transaction<'static, Postgres>> {
    let mut transaction = pool.begin_with(BEGIN).await?;
    if let Some(term) = term {
        leader::confirm(&mut transaction, term).await?;
    }
    Ok(transaction)
}

/// Cancels live jobs of the first integration that has any; returns how many.
pub async fn live_jobs(connection: &mut PgConnection, integrations: &[Uuid], limit: i64) -> Result<i64> {
    let with_jobs = sqlx::query_scalar!(
        r#"
        select o.id as "id!: IntegrationId" from unnest($1::uuid[]) o (id)
        cross join lateral (select from headgate.jobs j where j.integration_id = o.id limit 1) has_jobs
        limit 1
        "#,
        integrations,
    )
    .fetch_optional(&mut *connection)
    .await?;
    match with_jobs {
        Some(id) => jobs::cancel_integration_jobs(connection, id, limit).await.map(u64::cast_signed),
        None => Ok(0),
    }
}

/// Deletes dead letters and copies in the bin, up to `limit` of each; returns how many. Call it when no job is left that could become a dead letter.
pub async fn dead_letters(connection: &mut PgConnection, integrations: &[Uuid], limit: i64) -> Result<i64> {
    let deleted = sqlx::query_scalar!(
        r#"
        with dead_letters as (
            delete from headgate.dead_letter_jobs where ctid = any (array(
                select x.place from unnest($1::uuid[]) o (id)
                cross join lateral (
                    select ctid as place from headgate.dead_letter_jobs where integration_id = o.id limit $2
                ) x
                limit $2
            ))
            returning integration_id, attempt
        ), counted as (
            insert into headgate.job_count_deltas (integration_id, status, attempt, n)
            select integration_id, 5, attempt, -count(*) from dead_letters group by integration_id, attempt
        ), binned as (
            delete from headgate.bin where ctid = any (array(
                select x.place from unnest($1::uuid[]) o (id)
                cross join lateral (select ctid as place from headgate.bin where integration_id = o.id limit $2) x
                limit $2
            ))
            returning 1
        )
        select (select count(*) from dead_letters) + (select count(*) from binned) as "deleted!"
        "#,
        integrations,
        limit,
    )
    .fetch_one(connection)
    .await?;
    Ok(deleted)
}

/// Deletes the counters of jobs and dead letters that are all gone, in the order in which a fold locks them.
pub async fn counters(connection: &mut PgConnection, integrations: &[Uuid]) -> Result<()> {
    sqlx::query!("delete from headgate.job_count_deltas where integration_id = any ($1)", integrations)
        .execute(&mut *connection)
        .await?;
    sqlx::query!("delete from headgate.job_counts where integration_id = any ($1)", integrations)
        .execute(connection)
        .await?;
    Ok(())
}
