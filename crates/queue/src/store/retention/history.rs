//! Retention of bulk operations, re-syncs, the audit log and the ids of events, which the deployment configures.
//!
//! Rows are found by their ids, which contain their time (UUIDv7), or by an index of their times, so rows that stay are not read.

use super::{CHUNK, begin};
use crate::{error::QueueError, store::leader::Term};
use chrono::{DateTime, TimeDelta, Utc};
use model::{
    id::first_id,
    retention::{Retained, Retentions},
};
use sqlx::PgPool;
use std::time::Duration;
use uuid::Uuid;

/// Deletes a chunk of each that is past its retention; true when there may be more.
pub async fn delete_history(pool: &PgPool, term: Term, kept: Retentions) -> Result<bool, QueueError> {
    super::all_of([
        resyncs(pool, term, kept.of(Retained::Resyncs)).await,
        audit_log(pool, term, kept.of(Retained::AuditLog)).await,
        event_ids(pool, term, kept.of(Retained::EventIds)).await,
    ])
}

/// All ids created before `now - kept` are smaller, with ten minutes to spare, because they come from the clocks of processes.
pub fn made_before(kept: Duration, now: DateTime<Utc>) -> Uuid {
    let kept = TimeDelta::from_std(kept).unwrap_or(TimeDelta::MAX);
    first_id(now.checked_sub_signed(kept).unwrap_or(DateTime::UNIX_EPOCH) + TimeDelta::minutes(10))
}

/// Deletes their batches too, by cascade. A cancelled re-sync whose jobs are still being cancelled is kept.
async fn resyncs(pool: &PgPool, term: Term, kept: Duration) -> Result<u64, QueueError> {
    let mut transaction = begin(pool, term).await?;
    let deleted = sqlx::query!(
        r#"
        delete from headgate.batches
        where id = any (array(
            select batch_id from headgate.resyncs
            where id < $1 and finished_at < (select clock_timestamp()) - make_interval(secs => $2) and not is_cancelling
            order by id limit $3
        ))
        "#,
        made_before(kept, Utc::now()),
        kept.as_secs_f64(),
        CHUNK,
    )
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(deleted.rows_affected())
}

async fn audit_log(pool: &PgPool, term: Term, kept: Duration) -> Result<u64, QueueError> {
    let mut transaction = begin(pool, term).await?;
    let deleted = sqlx::query!(
        r#"
        delete from headgate.audit_log
        where id = any (array(
            select id from headgate.audit_log
            where id < $1 and at < (select clock_timestamp()) - make_interval(secs => $2)
            order by id limit $3
        ))
        "#,
        made_before(kept, Utc::now()),
        kept.as_secs_f64(),
        CHUNK,
    )
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(deleted.rows_affected())
}

async fn event_ids(pool: &PgPool, term: Term, kept: Duration) -> Result<u64, QueueError> {
    let mut transaction = begin(pool, term).await?;
    let deleted = sqlx::query!(
        r#"
        delete from headgate.event_ids
        where ctid = any (array(
            select ctid from headgate.event_ids
            where accepted_at < (select clock_timestamp()) - make_interval(secs => $1)
            order by accepted_at limit $2
        )) and accepted_at < clock_timestamp() - make_interval(secs => $1)
        "#,
        kept.as_secs_f64(),
        CHUNK,
    )
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(deleted.rows_affected())
}
