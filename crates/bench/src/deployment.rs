//! Sample data for the pages, like a deployment after a bad day: millions of waiting jobs, as many finished ones, dead letters of a dozen causes,
//! apps, records, a day of history. It is plain SQL, with matching counters, so that the pages show true numbers.

use crate::world::{connect, execute, fresh};
use anyhow::Result;

/// Row counts.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub live: u64,
    pub finished: u64,
    pub dead: u64,
    pub records: u64,
}

impl Size {
    /// The size for which the times of pages are promised.
    pub(crate) const FULL: Self =
        Self { live: 10_000_000, finished: 10_000_000, dead: 1_000_000, records: 1_000_000 };

    pub(crate) const fn divided(self, by: u64) -> Self {
        Self {
            live: self.live / by,
            finished: self.finished / by,
            dead: self.dead / by,
            records: self.records / by,
        }
    }
}

const APPS: u64 = 50;
const INTEGRATIONS: u64 = 500;

/// SQL of the id of the n-th integration, and of its app.
const INTEGRATION: &str = "('00000000-0000-7000-9000-' || lpad(to_hex(n), 12, '0'))::uuid";
const APP: &str = "('00000000-0000-7000-a000-' || lpad(to_hex(n % 50), 12, '0'))::uuid";

/// SQL of a time-ordered id for the time `at`.
const ID: &str = "(lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(g), 19, '0'))::uuid";

/// Creates it in the bench's database; returns the address.
pub(crate) async fn make(server: &str, size: Size) -> Result<String> {
    let url = fresh(server).await?;
    let pool = connect(&url, 2).await?;
    let Size { live, finished, dead, records } = size;
    let steps = [
        "alter database headgate_bench set synchronous_commit = off".to_owned(),
        // Paused, so that nothing is claimed or promoted during the measurement.
        format!(
            "insert into headgate.apps (id, name, slug)
             select {APP}, 'Customer ' || n, 'customer-' || n from generate_series(0, {APPS} - 1) n;
             insert into headgate.integrations (id, app_id, name, integration_type, endpoint_url, signing_secret_sealed, state, rate_limits)
             select {INTEGRATION}, {APP}, 'Shop ' || n, 'webhook', 'https://bench.test/' || n, '', 'paused', '[{{\"requests\": 20, \"per_seconds\": 1}}]'
             from generate_series(0, {INTEGRATIONS} - 1) n;
             insert into headgate.lanes (integration_id, app_id, is_external, is_open, max_concurrency)
             select {INTEGRATION}, {APP}, false, false, 50 from generate_series(0, {INTEGRATIONS} - 1) n;
             insert into headgate.records (app_id, record_type, record_id, attributes, attribute_bytes)
             select {APP}, 'product', 'sku-' || g, jsonb_build_object('name', 'Product ' || g, 'price', g % 997), 40
             from generate_series(1, {records}) g cross join lateral (select g % {INTEGRATIONS} as n) i
             on conflict do nothing;
             insert into headgate.record_counts (app_id, record_type, n)
             select app_id, record_type, count(*) from headgate.records group by 1, 2"
        ),
        // Nineteen of twenty jobs are ready, the twentieth waits for its next attempt tomorrow.
        format!(
            "insert into headgate.jobs (id, app_id, integration_id, created_at, run_at, rank, max_attempts, job_type, record_type, record_id,
                 deduplication_id, correlation_id, status, attempt, retry_at, error_kind, error_message)
             select {ID}, {APP}, {INTEGRATION}, at, at, 0, 10, 'record.updated', 'product', 'sku-' || g, 'headgate:record:product:sku-' || g, 'order-' || g / 3,
                 case when g % 20 = 0 then 2 else 0 end, case when g % 20 = 0 then 1 + g % 5 else 0 end,
                 case when g % 20 = 0 then clock_timestamp() + interval '1 day' end,
                 case when g % 20 = 0 then 'retryable' end,
                 case when g % 20 = 0 then 'The system answered 503: upstream ' || g || ' is out of order' end
             from (select g, clock_timestamp() - interval '20 hours' + g::bigint * interval '70000 s' / {live} as at, (g::bigint * 7919) % {INTEGRATIONS} as n
                   from generate_series(1, {live}) g) made;
             insert into headgate.ready (integration_id, rank, created_at, job_id)
             select integration_id, rank, created_at, id from headgate.jobs where status = 0;
             insert into headgate.waiting (due_at, job_id, integration_id)
             select retry_at, id, integration_id from headgate.jobs where status = 2;
             insert into headgate.job_attempts (job_id, integration_id, started_at, attempt, response_status, outcome, error_kind, error_message)
             select id, integration_id, created_at, attempt, 503, 'failed', error_kind, error_message from headgate.jobs where status = 2;
             insert into headgate.failing_jobs (job_id, integration_id, fingerprint, due_at)
             select id, integration_id, left(md5('503'), 16) || '-' || right(integration_id::text, 12), retry_at from headgate.jobs where status = 2"
        ),
        format!(
            "insert into headgate.finished_jobs (id, app_id, integration_id, created_at, run_at, started_at, finished_at, duration_ms, status,
                 priority, attempt, max_attempts, response_status, is_full, folded, job_type, record_type, record_id, deduplication_id,
                 correlation_id, outcome)
             select {ID}, {APP}, {INTEGRATION}, at, at, at, at, g % 400, case when g % 50 = 0 then 4 else 3 end, 0, 1, 10, 200, false, 0,
                 'record.updated', 'product', 'sku-' || g % {records}, 'headgate:record:product:sku-' || g % {records}, 'order-' || g / 3,
                 case when g % 50 = 0 then 'cancelled' else 'completed' end
             from (select g, date_trunc('day', clock_timestamp())
                       + g * (clock_timestamp() - date_trunc('day', clock_timestamp())) / {finished} as at, (g::bigint * 7919) % {INTEGRATIONS} as n
                   from generate_series(1, {finished}) g) made"
        ),
        format!(
            "insert into headgate.dead_letter_jobs (id, job_id, app_id, integration_id, created_at, run_at, started_at, failed_at, rank, priority,
                 attempt, max_attempts, is_full, folded, job_type, record_type, record_id, deduplication_id, correlation_id, error_kind,
                 error_message, response_status, fingerprint, attempts)
             select {ID}, {ID}, {APP}, {INTEGRATION}, at, at, at, at, 0, 0, 10, 10, false, 0, 'record.updated', 'product', 'sku-' || g % {records},
                 'headgate:record:product:sku-' || g % {records}, 'order-' || g / 3, 'not_retryable', 'The system answered 400: attribute ' || g % 12 || ' of ' || g || ' is unknown',
                 400, left(md5((g % 12)::text), 16) || '-' || right({INTEGRATION}::text, 12), '[]'
             from (select g, clock_timestamp() - interval '20 hours' + g::bigint * interval '70000 s' / {dead} as at, (g::bigint * 7919) % {INTEGRATIONS} as n
                   from generate_series(1, {dead}) g) made"
        ),
        "insert into headgate.job_counts (integration_id, status, attempt, n)
         select integration_id, status, attempt, count(*) from headgate.jobs group by 1, 2, 3
         union all select integration_id, 5, 0, count(*) from headgate.dead_letter_jobs group by 1
         on conflict (integration_id, status, attempt) do update set n = excluded.n"
            .to_owned(),
        format!(
            "insert into headgate.throughput (integration_id, step_seconds, bucket_at, completed, retried, dead, duration_ms)
             select {INTEGRATION}, 60, at, 14, 1, 1, 2000 from generate_series(0, {INTEGRATIONS} - 1) n
             cross join generate_series(date_trunc('minute', clock_timestamp()) - interval '3 hours', clock_timestamp(), interval '1 minute') at;
             insert into headgate.throughput (integration_id, step_seconds, bucket_at, completed, retried, dead, duration_ms)
             select '00000000-0000-0000-0000-000000000000', 60, at, 7000, 500, 500, 1000000
             from generate_series(date_trunc('minute', clock_timestamp()) - interval '1 day', clock_timestamp(), interval '1 minute') at;
             insert into headgate.audit_log (id, at, actor_kind, actor_id, actor_name, role, action, object_kind, object_id)
             select {ID}, at, 'user', 'u-' || g % 20, 'Person ' || g % 20, 'operator', 'integration.update', 'integration', {INTEGRATION}::text
             from (select g, clock_timestamp() - g * interval '1 minute' as at, g % {INTEGRATIONS} as n from generate_series(1, 100000) g) made"
        ),
        "vacuum analyze".to_owned(),
        "checkpoint".to_owned(),
    ];
    for step in &steps {
        execute(&pool, step).await?;
    }
    Ok(url)
}
