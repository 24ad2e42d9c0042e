//! Causes that fail more and more often.

use super::read::in_state;
use model::failure::{CauseId, FailureState, GrowingFailure};
use model::rules::verdict::ErrorKind;
use model::rules::{cause, growth};
use queue::error::QueueError;
use sqlx::{PgPool, Postgres, QueryBuilder};

/// Open groups checked, those with most jobs first; the trend of each is a few rows.
const MAX_CHECKED: i64 = 200;
const MAX_REPORTED: usize = 3;

/// Open groups that grow, by the rule [`growth`], those with most failures first.
pub async fn growing(pool: &PgPool) -> Result<Vec<GrowingFailure>, QueueError> {
    #[derive(sqlx::FromRow)]
    struct Row {
        cause: String,
        error_kind: String,
        error_message: String,
        response_status: Option<i16>,
        last_hour: i64,
        hour_before: i64,
    }
    // The step in which the hour begins counts with the share of it that lies inside.
    let mut sql = QueryBuilder::<Postgres>::new(
        "select f.*, t.last_hour, t.both_hours - t.last_hour as hour_before
         from (
             select g.cause, g.error_kind, g.error_message, g.response_status
             from (select g.*, g.last_at as failed_last_at from headgate.failure_groups g) g where ",
    );
    sql.push(in_state(Some(FailureState::Open))).push(format_args!(
        "    and g.last_at > statement_timestamp() - interval '1 hour'
             order by g.waiting + g.dead desc, g.cause desc limit {MAX_CHECKED}
         ) f
         cross join lateral (
             select coalesce(round(sum(s.failed * least(s.inside, 900) / 900.0)), 0)::bigint as both_hours,
                 coalesce(round(sum(s.failed * least(greatest(s.inside - 3600, 0), 900) / 900.0)), 0)::bigint as last_hour
             from (
                 -- Seconds from two hours ago to the end of the step.
                 select b.failed, extract(epoch from b.bucket_at + interval '135 minutes' - statement_timestamp()) as inside
                 from headgate.failure_trend b
                 where b.key = f.cause and b.bucket_at > statement_timestamp() - interval '135 minutes'
             ) s
         ) t"
    ));
    let rows: Vec<Row> = sql.build_query_as().fetch_all(pool).await?;
    let mut rows: Vec<_> =
        rows.into_iter().filter(|row| growth::is_growing(row.last_hour, row.hour_before)).collect();
    rows.sort_by(|a, b| b.last_hour.cmp(&a.last_hour).then_with(|| a.cause.cmp(&b.cause)));
    let mut growing = Vec::with_capacity(MAX_REPORTED);
    for row in rows {
        if growing.len() == MAX_REPORTED {
            break;
        }
        let (integrations, integration) = failing_integrations(pool, &row.cause).await?;
        // All that failed by it are deleted.
        if integrations == 0 {
            continue;
        }
        let kind = row.error_kind.parse().unwrap_or(ErrorKind::Retryable);
        growing.push(GrowingFailure {
            // The fold keeps no others.
            fingerprint: row.cause.parse().unwrap_or(CauseId(0)),
            cause: cause::of(kind, row.response_status, &row.error_message).cause.to_owned(),
            response_status: row.response_status,
            integrations,
            integration,
            last_hour: row.last_hour,
            hour_before: row.hour_before,
        });
    }
    Ok(growing)
}

/// How many integrations failed by it in the last hour, and the name if it is only one.
async fn failing_integrations(pool: &PgPool, cause: &str) -> Result<(i64, Option<String>), QueueError> {
    let row = sqlx::query!(
        r#"
        select count(*) as "integrations!", case when count(*) = 1 then min(f.name) end as integration
        from (
            select i.name from headgate.failure_counts c join headgate.integrations i on i.id = c.integration_id
            where c.cause = $1 and c.last_at > statement_timestamp() - interval '1 hour'
            limit 1000
        ) f
        "#,
        cause
    )
    .fetch_one(pool)
    .await?;
    Ok((row.integrations, row.integration))
}
