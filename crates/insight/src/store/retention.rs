//! Rows that are deleted when they are old enough; [`queue::store::retention`] does it.

use model::retention::{Retained, Retentions};
use queue::{expired, store::retention::Expired};
use sqlx::PgConnection;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// The length of the longest chart.
const QUARTER: Duration = Duration::from_secs(90 * 24 * 60 * 60);
/// A little longer than a day, so that the oldest bucket of a chart is always complete.
const DAY_OF_CHARTS: Duration = Duration::from_secs(25 * 60 * 60);

/// Minutes and quarter hours of all integrations together (the nil id) are kept for 3 days: a chart of yesterday goes back one more day. Groups of failures
/// without waiting jobs and dead letters go 7 days after the last failure.
pub(crate) fn rows(kept: Retentions) -> Vec<Expired> {
    let week = DAY * 7;
    let operations = kept.of(Retained::Operations);
    vec![
        expired!("throughput", "bucket_at", Duration::from_secs(65 * 60), where "step_seconds = 10"),
        expired!("throughput", "bucket_at", DAY_OF_CHARTS, where "step_seconds = 60 and integration_id <> '00000000-0000-0000-0000-000000000000'"),
        expired!("throughput", "bucket_at", DAY_OF_CHARTS, where "step_seconds = 900 and integration_id <> '00000000-0000-0000-0000-000000000000'"),
        expired!("throughput", "bucket_at", DAY * 3, where "step_seconds = 60"),
        expired!("throughput", "bucket_at", DAY * 3, where "step_seconds = 900"),
        expired!("throughput", "bucket_at", QUARTER, where "step_seconds = 3600"),
        expired!("answers", "bucket_at", DAY_OF_CHARTS, where "step_seconds = 60"),
        expired!("answers", "bucket_at", QUARTER, where "step_seconds = 3600"),
        expired!("rate_limit_use", "bucket_at", DAY_OF_CHARTS, where "step_seconds = 60"),
        expired!("rate_limit_use", "bucket_at", DAY_OF_CHARTS, where "step_seconds = 900"),
        expired!("failure_trend", "bucket_at", HOUR * 26),
        Expired {
            table: "failure_counts",
            keeps: week,
            delete: |connection, keeps| Box::pin(failure_counts(connection, keeps)),
        },
        Expired {
            table: "failure_groups",
            keeps: week,
            delete: |connection, keeps| Box::pin(failure_groups(connection, keeps)),
        },
        expired!("operation_jobs", "kept_at", DAY),
        expired!("operations", "finished_at", operations, by id),
    ]
}

/// Counts of deleted integrations are deleted at once. A failure that is folded meanwhile wins: after the wait for its row lock Postgres tests the condition
/// again.
async fn failure_counts(connection: &mut PgConnection, keeps: Duration) -> Result<u64, sqlx::Error> {
    let deleted = sqlx::query!(
        r#"
        delete from headgate.failure_counts c
        where waiting = 0 and dead = 0
            and (
                last_at < (select clock_timestamp()) - make_interval(secs => $1)
                or not exists (select 1 from headgate.integrations i where i.id = c.integration_id)
            )
        "#,
        keeps.as_secs_f64(),
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

async fn failure_groups(connection: &mut PgConnection, keeps: Duration) -> Result<u64, sqlx::Error> {
    let deleted = sqlx::query!(
        r#"
        delete from headgate.failure_groups
        where waiting = 0 and dead = 0 and last_at < (select clock_timestamp()) - make_interval(secs => $1)
        "#,
        keeps.as_secs_f64(),
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}
