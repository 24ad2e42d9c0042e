//! Proves that the kept counters are the truth: counts every job, which nothing else does. For tests and for whoever doubts.

use crate::error::QueueError;
use model::id::IntegrationId;
use sqlx::PgPool;

/// A counter that does not say what is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drift {
    /// Which integration.
    pub integration_id: IntegrationId,
    /// 0 pending, 1 processing, 2 to be retried, 5 dead letters.
    pub status: i16,
    /// Attempts made, of those to be retried; 0 for the others.
    pub attempt: i16,
    /// What the counter says, unfolded deltas included.
    pub counted: i64,
    /// What there is.
    pub real: i64,
}

/// Every counter that differs from what is there, both read in one statement. Empty: they agree.
///
/// # Errors
/// When the database cannot be asked.
pub async fn drift(pool: &PgPool) -> Result<Vec<Drift>, QueueError> {
    let drifts = sqlx::query_as!(
        Drift,
        r#"
        with counted as materialized (
            -- The pyramid is by attempts; of the others only the sum is shown.
            select integration_id, status, case when status = 2 then attempt else 0 end as attempt, sum(n)::bigint as n
            from (
                select integration_id, status, attempt, n from headgate.job_counts
                union all
                select integration_id, status, attempt, n from headgate.job_count_deltas
            ) kept
            group by 1, 2, 3
        ), there as materialized (
            select integration_id, status, attempt, count(*) as n
            from (
                select integration_id, status, case when status = 2 then attempt else 0 end as attempt from headgate.jobs
                union all
                -- The change that waits behind a processing job is a pending job of its own.
                select integration_id, 0::smallint, 0 from headgate.jobs where successor is not null
                union all
                select integration_id, 5::smallint, 0 from headgate.dead_letter_jobs
            ) seen
            group by 1, 2, 3
        )
        select integration_id as "integration_id!: IntegrationId", status as "status!", attempt::smallint as "attempt!",
            coalesce(c.n, 0) as "counted!", coalesce(t.n, 0) as "real!"
        from counted c
        full join there t using (integration_id, status, attempt)
        where coalesce(c.n, 0) <> coalesce(t.n, 0)
        order by 1, 2, 3
        "#,
    )
    .fetch_all(pool)
    .await?;
    Ok(drifts)
}
