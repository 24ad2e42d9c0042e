//! Rows of deliveries that are deleted when they are old enough; [`queue::store::retention`] does it.

use std::time::Duration;

use model::retention::{Retained, Retentions};
use queue::expired;
use queue::store::retention::{Expired, PORTION, made_before};
use sqlx::PgConnection;

/// Deleted records are not among them ([`super::tombstones`]).
pub(crate) fn rows(kept: Retentions) -> Vec<Expired> {
    vec![
        Expired {
            table: "resyncs",
            keeps: kept.of(Retained::Resyncs),
            delete: |connection, keeps| Box::pin(resyncs(connection, keeps)),
        },
        expired!("deletions", "finished_at", kept.of(Retained::Operations), by id),
        expired!("event_ids", "accepted_at", kept.of(Retained::EventIds)),
        Expired {
            table: "record_counts",
            keeps: Duration::ZERO,
            delete: |connection, _| Box::pin(empty_record_counts(connection)),
        },
        Expired {
            table: "in_sync_counts",
            keeps: Duration::ZERO,
            delete: |connection, _| Box::pin(empty_in_sync_counts(connection)),
        },
    ]
}

/// With their batches: a re-sync goes by cascade. A cancelled re-sync whose jobs are still being cancelled is kept.
async fn resyncs(connection: &mut PgConnection, keeps: Duration) -> Result<u64, sqlx::Error> {
    let deleted = sqlx::query!(
        r#"
        delete from headgate.batches
        where id = any (array(
            select batch_id from headgate.resyncs
            where id < $1 and finished_at < (select clock_timestamp()) - make_interval(secs => $2) and not is_cancelling
            order by id limit $3
        ))
        "#,
        made_before(keeps),
        keeps.as_secs_f64(),
        PORTION,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

/// A counter of 0 means the same as no row. A fold that adds to one meanwhile wins: after the wait for its row lock Postgres tests the condition again.
async fn empty_record_counts(connection: &mut PgConnection) -> Result<u64, sqlx::Error> {
    let deleted = sqlx::query!(
        r#"
        -- Jobs of a record that is gone are found by its record type, which is taken from here.
        delete from headgate.record_counts c
        where n = 0
            and not exists (
                select from headgate.finished_jobs j
                where j.app_id = c.app_id and j.record_type = c.record_type and j.record_id is not null
            ) and not exists (
                select from headgate.dead_letter_jobs j
                where j.app_id = c.app_id and j.record_type = c.record_type and j.record_id is not null
            )
        "#
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

async fn empty_in_sync_counts(connection: &mut PgConnection) -> Result<u64, sqlx::Error> {
    let deleted = sqlx::query!(
        r#"
        -- A fold or a change concurrent with the deletion of an integration may leave a row that belongs to none.
        delete from headgate.in_sync_counts c
        where n = 0 or not exists (select from headgate.integrations i where i.id = c.integration_id)
        "#
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}
