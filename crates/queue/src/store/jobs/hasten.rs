//! Letting jobs run earlier than they were to.

use super::BEGIN;
use crate::{error::QueueError, pool::begin};
use chrono::{DateTime, Utc};
use model::id::{IntegrationId, JobId};
use sqlx::{PgExecutor, PgPool};

/// Jobs of one transaction: those who want one of them wait no longer than this takes.
const PORTION: usize = 2_000;

/// Lets the pending jobs of an integration that wait for a later time run at this one, and the changes that stand behind running ones.
/// Answers how many there were. It commits portion by portion.
///
/// What someone changes right now is passed over and keeps its time: [`is_any_later`] tells, and another pass finds it.
///
/// # Errors
/// When the database is away.
pub async fn hasten(
    pool: &PgPool,
    integration_id: IntegrationId,
    run_at: DateTime<Utc>,
) -> Result<usize, QueueError> {
    let mut count = 0;
    let mut after = JobId(uuid::Uuid::nil());
    loop {
        let mut transaction = begin(pool, BEGIN).await?;
        // Nothing is ever waited for: who calls a job off holds its entry of `waiting` and waits for the job.
        let ids = sqlx::query_scalar!(
            r#"
            with later as materialized (
                select j.id from headgate.jobs j
                where j.integration_id = $1 and j.id > $3 and (
                    j.status = 0 and (
                        j.run_at > $2 or exists (select 1 from headgate.waiting w where w.job_id = j.id and w.due_at > $2)
                    )
                    or (j.successor ->> 'run_at')::timestamptz > $2
                )
                order by j.id limit $4
                for update skip locked
            ), entries as materialized (
                select w.due_at, w.job_id
                from later l
                join headgate.jobs j on j.id = l.id and j.status = 0
                join headgate.waiting w on w.job_id = l.id and w.due_at > $2
                for update of w skip locked
            ), hastened as (
                update headgate.jobs j
                set run_at = case when j.status = 0 then least(j.run_at, $2) else j.run_at end,
                    successor = case
                        when (j.successor ->> 'run_at')::timestamptz > $2
                            then jsonb_set(j.successor, '{run_at}', to_jsonb($2::timestamptz))
                        else j.successor
                    end
                from later l where j.id = l.id
            ), moved as (
                update headgate.waiting w set due_at = $2 from entries e where w.due_at = e.due_at and w.job_id = e.job_id
            )
            select id as "id!: JobId" from later order by id
            "#,
            integration_id as IntegrationId,
            run_at,
            after as JobId,
            i64::try_from(PORTION).unwrap_or(i64::MAX),
        )
        // Planned for the table as it is: see `finish::BEGIN`.
        .persistent(false)
        .fetch_all(&mut *transaction)
        .await?;
        transaction.commit().await?;
        count += ids.len();
        match ids.last() {
            Some(last) if ids.len() == PORTION => after = *last,
            _ => return Ok(count),
        }
    }
}

/// Whether [`hasten`] has something left to do.
///
/// # Errors
/// When the database is away.
pub async fn is_any_later(
    db: impl PgExecutor<'_>,
    integration_id: IntegrationId,
    run_at: DateTime<Utc>,
) -> Result<bool, QueueError> {
    let is_any = sqlx::query_scalar!(
        r#"
        select exists (
            select 1 from headgate.jobs j
            where j.integration_id = $1 and (
                j.status = 0 and (
                    j.run_at > $2 or exists (select 1 from headgate.waiting w where w.job_id = j.id and w.due_at > $2)
                )
                or (j.successor ->> 'run_at')::timestamptz > $2
            )
        ) as "is_any!"
        "#,
        integration_id as IntegrationId,
        run_at,
    )
    .persistent(false)
    .fetch_one(db)
    .await?;
    Ok(is_any)
}
