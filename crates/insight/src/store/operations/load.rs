//! What a requeue adds to the rate limits.

use model::id::IntegrationId;
use model::operation::{AddedLoad, DryRunPart};
use queue::error::QueueError;
use sqlx::PgPool;
use std::collections::BTreeMap;

/// By limit, the slowest first. If several limits apply to an integration, the tightest counts.
pub(super) async fn added(pool: &PgPool, parts: &[DryRunPart]) -> Result<Vec<AddedLoad>, QueueError> {
    let mut added: BTreeMap<IntegrationId, i64> = BTreeMap::new();
    for part in parts {
        *added.entry(part.integration_id).or_default() += part.count;
    }
    let (ids, counts): (Vec<IntegrationId>, Vec<i64>) = added.into_iter().unzip();
    let rows = sqlx::query!(
        r#"
        select array_agg(l.integration_id order by l.integration_id) as "integration_ids!: Vec<IntegrationId>",
            sum(g.n)::bigint as "added!", sum(p.n)::bigint as "pending!", min(r.requests) as requests, min(r.per_seconds) as per_seconds
        from unnest($1::uuid[], $2::bigint[]) as g (id, n)
        join headgate.lanes l on l.integration_id = g.id
        left join lateral (
            select r.key, r.requests, r.per_seconds from headgate.rate_limits r where r.key = any (l.limit_keys)
            order by r.requests::float8 / r.per_seconds limit 1
        ) r on true
        cross join lateral (
            select greatest(coalesce(sum(c.n), 0), 0) as n
            from (
                select n from headgate.job_counts where integration_id = g.id and status = 0
                union all
                select n from headgate.job_count_deltas where integration_id = g.id and status = 0
            ) c
        ) p
        group by coalesce(r.key, l.integration_id::text)
        "#,
        &ids as &[IntegrationId],
        &counts,
    )
    .fetch_all(pool)
    .await?;
    let mut load: Vec<AddedLoad> = rows
        .into_iter()
        .map(|row| AddedLoad {
            drain_seconds: row
                .requests
                .zip(row.per_seconds)
                .map(|(requests, seconds)| drain(row.added + row.pending, requests, seconds)),
            integration_ids: row.integration_ids,
            added: row.added,
            pending: row.pending,
            requests: row.requests,
            per_seconds: row.per_seconds,
        })
        .collect();
    load.sort_by_key(|one| (std::cmp::Reverse(one.drain_seconds), std::cmp::Reverse(one.added)));
    Ok(load)
}

fn drain(jobs: i64, requests: i32, per_seconds: i32) -> i64 {
    (jobs as f64 * f64::from(per_seconds) / f64::from(requests.max(1))).ceil() as i64
}

#[cfg(test)]
mod tests {
    use super::drain;

    #[test]
    fn a_limit_allows_so_many_requests_per_window() {
        for (jobs, requests, per_seconds, seconds) in [(3_000, 20, 1, 150), (10, 600, 60, 1), (1, 1, 60, 60)]
        {
            assert_eq!(drain(jobs, requests, per_seconds), seconds);
        }
    }
}
