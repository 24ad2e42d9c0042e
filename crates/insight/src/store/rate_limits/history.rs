//! Limits over time: slots used and allowed, and answers 429.

use chrono::{DateTime, TimeDelta, Utc};
use model::id::IntegrationId;
use model::limit_use::{LimitStep, LimitUse, LimitWindow};
use queue::error::QueueError;
use sqlx::PgPool;
use std::collections::{BTreeMap, HashMap};

/// A limit and the integrations that share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedLimit {
    /// Its key.
    pub key: String,
    /// The integrations whose requests it counts.
    pub integrations: Vec<IntegrationId>,
    /// Requests it allows now per window.
    pub requests: i32,
    /// Length of the window.
    pub per_seconds: i32,
}

/// The limits of an integration, in the order of their keys.
pub async fn limits_of(pool: &PgPool, id: IntegrationId) -> Result<Vec<SharedLimit>, QueueError> {
    let limits = sqlx::query_as!(
        SharedLimit,
        r#"
        select r.key, r.requests, r.per_seconds,
            array(
                select l.integration_id from headgate.lanes l
                where l.app_id = me.app_id and r.key = any (l.limit_keys)
                order by l.integration_id
            ) as "integrations!: Vec<IntegrationId>"
        from headgate.lanes me
        join headgate.rate_limits r on r.key = any (me.limit_keys)
        where me.integration_id = $1
        order by r.key
        "#,
        id as IntegrationId,
    )
    .fetch_all(pool)
    .await?;
    Ok(limits)
}

#[derive(Clone, Copy)]
struct Used {
    given: i64,
    requests: i32,
    per_seconds: i32,
}

/// The use of each of these limits, in their order. Exact up to this moment: counts that the leader has not copied yet are read from the limits' rows.
pub async fn history(
    pool: &PgPool,
    limits: &[SharedLimit],
    window: LimitWindow,
) -> Result<Vec<LimitUse>, QueueError> {
    let keys: Vec<String> = limits.iter().map(|limit| limit.key.clone()).collect();
    let mut ids: Vec<IntegrationId> =
        limits.iter().flat_map(|limit| limit.integrations.iter().copied()).collect();
    ids.sort_unstable();
    ids.dedup();
    let now = sqlx::query_scalar!(r#"select statement_timestamp() as "now!""#).fetch_one(pool).await?;
    let step = TimeDelta::seconds(window.step_seconds().into());
    let last = floor(now, window.step_seconds());
    let begin = last - step * (window.steps() - 1);
    let used = used(pool, &keys, window, begin, last).await?;
    let refused = refused(pool, &ids, window, begin).await?;
    let edits = edits(pool, &ids, begin).await?;
    Ok(limits
        .iter()
        .map(|limit| {
            let own = used.get(&limit.key);
            // The limit in force is known for steps with use; steps between them have that of the step before.
            let mut in_force = own
                .and_then(|own| own.values().next())
                .map_or((limit.requests, limit.per_seconds), |first| (first.requests, first.per_seconds));
            let steps = (0..window.steps()).map(|n| {
                let at = begin + step * n;
                let used = own.and_then(|own| own.get(&at));
                if let Some(used) = used {
                    in_force = (used.requests, used.per_seconds);
                }
                if at == last {
                    in_force = (limit.requests, limit.per_seconds);
                }
                LimitStep {
                    at,
                    given: used.map_or(0, |used| used.given),
                    allowed: f64::from(in_force.0) * f64::from(window.step_seconds())
                        / f64::from(in_force.1.max(1)),
                    refused: limit.integrations.iter().filter_map(|id| refused.get(&(*id, at))).sum(),
                }
            });
            let steps = steps.collect();
            let mut edited_at: Vec<_> = limit
                .integrations
                .iter()
                .flat_map(|id| edits.get(id).into_iter().flatten().copied())
                .collect();
            edited_at.sort_unstable();
            LimitUse { step_seconds: window.step_seconds(), steps, edited_at }
        })
        .collect())
}

/// Slots used, by key and step. The last three quarter hours of a day's chart are summed from minutes, because the newest are not copied yet.
async fn used(
    pool: &PgPool,
    keys: &[String],
    window: LimitWindow,
    begin: DateTime<Utc>,
    last: DateTime<Utc>,
) -> Result<HashMap<String, BTreeMap<DateTime<Utc>, Used>>, QueueError> {
    let step_seconds = window.step_seconds();
    let minutes_from = match window {
        LimitWindow::Hour => begin,
        LimitWindow::Day => last - TimeDelta::seconds(step_seconds.into()) * 2,
    };
    let rows = sqlx::query!(
        r#"
        select key as "key!", bucket_at as "at!", given as "given!", requests as "requests!", per_seconds as "per_seconds!",
            false as "is_counting!"
        from headgate.rate_limit_use
        where step_seconds = $2 and key = any ($1) and bucket_at >= $3 and bucket_at < $4
        union all
        select key, bucket_at, given, requests, per_seconds, false
        from headgate.rate_limit_use
        where step_seconds = 60 and key = any ($1) and bucket_at >= $4
        union all
        select r.key, to_timestamp(m.minute * 60), m.given, r.requests, r.per_seconds, true
        from headgate.rate_limits r
        cross join lateral (values (r.minute_before, r.minute_before_given), (r.minute, r.minute_given)) m (minute, given)
        where r.key = any ($1) and to_timestamp(m.minute * 60) >= $4
        "#,
        keys,
        step_seconds,
        begin,
        minutes_from,
    )
    .fetch_all(pool)
    .await?;
    let mut minutes = HashMap::<String, BTreeMap<DateTime<Utc>, Used>>::new();
    for row in rows {
        let used = Used { given: row.given, requests: row.requests, per_seconds: row.per_seconds };
        let own = minutes.entry(row.key).or_default();
        if row.is_counting {
            // The row that counts is never behind its copy.
            own.insert(row.at, used);
        } else {
            own.entry(row.at).or_insert(used);
        }
    }
    Ok(minutes
        .into_iter()
        .map(|(key, own)| {
            let mut steps = BTreeMap::<DateTime<Utc>, Used>::new();
            for (at, used) in own {
                let step = steps.entry(floor(at, step_seconds)).or_insert(Used { given: 0, ..used });
                *step = Used { given: step.given + used.given, ..used };
            }
            (key, steps)
        })
        .collect())
}

/// Answers 429, by integration and step.
async fn refused(
    pool: &PgPool,
    ids: &[IntegrationId],
    window: LimitWindow,
    begin: DateTime<Utc>,
) -> Result<HashMap<(IntegrationId, DateTime<Utc>), i64>, QueueError> {
    let rows = sqlx::query!(
        r#"
        select integration_id as "integration_id!: IntegrationId",
            to_timestamp(floor(extract(epoch from at) / $2::int) * $2::int) as "at!", sum(n)::bigint as "n!"
        from (
            select integration_id, bucket_at as at, n
            from headgate.answers
            where status = 429 and integration_id = any ($1) and step_seconds = 60 and bucket_at >= $3
            union all
            select d.integration_id, d.at, u.n
            from headgate.latency_deltas d, unnest(d.statuses, d.status_counts) u (status, n)
            where u.status = 429 and d.integration_id = any ($1)
        ) counted
        group by 1, 2
        "#,
        ids as &[IntegrationId],
        window.step_seconds(),
        begin,
    )
    .fetch_all(pool)
    .await?;
    Ok(rows.into_iter().map(|row| ((row.integration_id, row.at), row.n)).collect())
}

/// Times at which the limits of these were changed.
async fn edits(
    pool: &PgPool,
    ids: &[IntegrationId],
    begin: DateTime<Utc>,
) -> Result<HashMap<IntegrationId, Vec<DateTime<Utc>>>, QueueError> {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let rows = sqlx::query!(
        r#"
        select object_id as "id!", at
        from headgate.audit_log
        where object_kind = 'integration' and object_id = any ($1) and action = 'integration.update'
            and at >= $2 and after ?| array['rate_limit', 'rate_limit_key']
        "#,
        &ids,
        begin,
    )
    .fetch_all(pool)
    .await?;
    let mut edits = HashMap::<IntegrationId, Vec<DateTime<Utc>>>::new();
    for row in rows {
        if let Ok(id) = row.id.parse() {
            edits.entry(id).or_default().push(row.at);
        }
    }
    Ok(edits)
}

fn floor(at: DateTime<Utc>, step_seconds: i32) -> DateTime<Utc> {
    let step = i64::from(step_seconds);
    DateTime::from_timestamp(at.timestamp().div_euclid(step) * step, 0).unwrap_or(at)
}
