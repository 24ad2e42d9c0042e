//! Letting jobs run earlier than they were scheduled for.

use crate::error::Result;
use crate::store::connections::begin;
use crate::store::jobs::BEGIN;
use chrono::{DateTime, Utc};
use model::id::{IntegrationId, JobId};
use sqlx::{PgExecutor, PgPool};

/// Jobs per transaction, and so how long others wait for one of them.
const PORTION: usize = 2_000;

/// Lets the pending jobs of an integration that wait for a later time run at this one, and the successors of running jobs too. Returns how many
/// there were. It commits portion by portion.
///
/// Jobs that are locked by another transaction are skipped and keep their time: [`is_any_scheduled_later`] reports them, and another pass finds
/// them.
pub async fn reschedule_earlier(
    pool: &PgPool,
    integration_id: IntegrationId,
    run_at: DateTime<Utc>,
) -> Result<usize> {
    let mut count = 0;
    let mut after = JobId(uuid::Uuid::nil());
    loop {
        let mut transaction = begin(pool, BEGIN).await?;
        // It waits for no lock, because others lock a job and its entry of `waiting` in another order: waiting could deadlock.
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
            ), rescheduled as (
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

/// Whether [`reschedule_earlier`] has something left to do.
pub async fn is_any_scheduled_later(
    db: impl PgExecutor<'_>,
    integration_id: IntegrationId,
    run_at: DateTime<Utc>,
) -> Result<bool> {
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
