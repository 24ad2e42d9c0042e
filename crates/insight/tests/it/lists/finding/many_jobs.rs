//! Many jobs of one app and a few of another, the filters that find them, and how much each of these may read.

use super::text;
use crate::support::Touched;
use model::{filter::JobFilter, id::AppId, job::JobStatus};
use sqlx::PgPool;
use uuid::Uuid;

/// Number of waiting jobs, and of finished ones; there are a quarter as many dead letters.
const MANY: i32 = 60_000;
/// The batch of every other job.
const BATCH: &str = "00000000-0000-7000-b000-000000000001";
/// Fingerprint of Small's dead letter: `md5` of its integration.
const RARE_FINGERPRINT: &str = "1acc693d922a24a04a5707d862482644";
/// The cause of a quarter of Big's dead letters.
const DENSE_CAUSE: &str = "c226e08ddf042c63";
/// Most rows that a page reads when an index finds its jobs.
pub(super) const INDEXED: u64 = 2_500;
/// Most rows that a page reads when it reads ten times its size from each table, or from each integration, once to find where they end.
const AHEAD: u64 = 6_500;
/// Most rows read in sequence, from tables as small as apps and integrations are here. The smallest table that must not be read whole has
/// 15,000 rows.
const IN_SEQUENCE: u64 = 5_000;
/// Most rows that a page reads when it filters rows one by one: three thousand of each table, once to find where they end.
pub(super) const SIFTED: u64 = 25_000;
/// The same for one table.
pub(super) const SIFTED_IN_ONE: u64 = 8_000;

/// Fills the tables with Big's jobs and, among the oldest, one of each rare kind, which is Small's.
pub(super) async fn fill(pool: &PgPool) -> AppId {
    let small = AppId::generate();
    sqlx::query(
        "with app as (
            insert into headgate.apps (id, name, slug) values ('00000000-0000-7000-a000-000000000001', 'Big', 'big'), ($1, 'Small', 'small')
        ), integration as (
            insert into headgate.integrations (id, app_id, name, integration_type, endpoint_url, signing_secret_sealed)
            select ('00000000-0000-7000-9000-' || lpad(n::text, 12, '0'))::uuid,
                case when n = 0 then $1 else '00000000-0000-7000-a000-000000000001' end, 'Shop ' || n, 'webhook', 'https://x.test', ''
            from generate_series(0, 4) n
        ), kind as (
            insert into headgate.record_counts (app_id, record_type, n)
            values ('00000000-0000-7000-a000-000000000001', 'product', 1), ($1, 'product', 1), ($1, 'order', 1)
        ), made as materialized (
            select g, place, g = 7 as is_rare,
                (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(g * 3 + place), 19, '0'))::uuid as id, at,
                case when g = 7 then $1 else '00000000-0000-7000-a000-000000000001' end as app_id,
                ('00000000-0000-7000-9000-' || lpad((case when g = 7 then 0 else 1 + g % 4 end)::text, 12, '0'))::uuid as integration_id,
                case when g = 7 then 'rare' else 'test' end as job_type,
                case when g = 7 then 'order' else 'product' end as record_type,
                case when g = 7 then 'rare' else g::text end as record_id,
                'headgate:record:' || case when g = 7 then 'order:rare' else 'product:' || g end as deduplication_id,
                case when g = 7 then 'c-rare' when g % 2 = 0 then 'c-dense' else 'c-' || g end as correlation_id,
                case when g % 2 = 0 then $3::uuid end as batch_id
            from (
                select g, place, clock_timestamp() - interval '90 minutes' + g * interval '1 hour' / $2 as at
                from generate_series(1, $2) g cross join generate_series(0, 2) place where place < 2 or g <= $2 / 4
            ) g
        ), live as (
            insert into headgate.jobs (id, app_id, integration_id, created_at, rank, max_attempts, job_type, record_type, record_id,
                deduplication_id, correlation_id, batch_id)
            select id, app_id, integration_id, at, 0, 10, job_type, record_type, record_id, deduplication_id, correlation_id, batch_id
            from made where place = 0
        ), finished as (
            insert into headgate.finished_jobs (id, app_id, integration_id, created_at, run_at, status, priority, attempt, max_attempts, is_full,
                folded, job_type, record_type, record_id, deduplication_id, correlation_id, batch_id, outcome)
            select id, app_id, integration_id, at, at, 3, 0, 1, 10, false, 0, job_type, record_type, record_id, deduplication_id,
                correlation_id, batch_id, 'sent'
            from made where place = 1
        )
        insert into headgate.dead_letter_jobs (id, job_id, app_id, integration_id, created_at, run_at, rank, priority, attempt, max_attempts,
            is_full, folded, job_type, record_type, record_id, deduplication_id, correlation_id, batch_id, error_kind, error_message, fingerprint, attempts)
        select id, id, app_id, integration_id, at, at, 0, 0, 10, 10, false, 0, job_type, record_type, record_id, deduplication_id,
            correlation_id, batch_id, 'not_retryable', case when is_rare then 'rare words' else 'no shelf' end, md5(integration_id::text), '[]'
        from made where place = 2",
    )
    .bind(small)
    .bind(MANY)
    .bind(BATCH.parse::<Uuid>().unwrap())
    .execute(pool)
    .await
    .unwrap();
    small
}

/// Each filter by itself, rare and dense, with the most rows its page may read and, where that is few, how many jobs it finds.
pub(super) fn each_filter(small: AppId) -> Vec<(&'static str, JobFilter, u64, Option<usize>)> {
    let all = JobFilter::default;
    vec![
        ("q, a record's id", JobFilter { q: text("rare"), ..all() }, INDEXED, Some(3)),
        ("q, a correlation id", JobFilter { q: text("c-rare"), ..all() }, INDEXED, Some(3)),
        (
            "q, a deduplication id",
            JobFilter { q: text("headgate:record:order:rare"), ..all() },
            INDEXED,
            Some(3),
        ),
        ("q, a job's id", JobFilter { q: Some(Uuid::now_v7().to_string()), ..all() }, INDEXED, Some(0)),
        ("record_id, rare", JobFilter { record_id: text("rare"), ..all() }, INDEXED, Some(3)),
        ("record_id, unknown", JobFilter { record_id: text("unknown"), ..all() }, INDEXED, Some(0)),
        ("app, few", JobFilter { app_id: Some(small), ..all() }, INDEXED, Some(3)),
        (
            "app, many",
            JobFilter { app_id: "00000000-0000-7000-a000-000000000001".parse().ok(), ..all() },
            AHEAD,
            None,
        ),
        ("batch_id", JobFilter { batch_id: BATCH.parse().ok(), ..all() }, AHEAD, None),
        (
            "batch_id, job_type, rare",
            JobFilter { batch_id: BATCH.parse().ok(), job_type: text("rare"), ..all() },
            SIFTED,
            Some(0),
        ),
        ("q, a correlation id of many", JobFilter { q: text("c-dense"), ..all() }, AHEAD, None),
        ("correlation_id", JobFilter { correlation_id: text("c-rare"), ..all() }, INDEXED, Some(3)),
        ("correlation_id of many", JobFilter { correlation_id: text("c-dense"), ..all() }, AHEAD, None),
        (
            "correlation_id of many, job_type, rare",
            JobFilter { correlation_id: text("c-dense"), job_type: text("rare"), ..all() },
            SIFTED,
            Some(0),
        ),
        ("job_type, dense", JobFilter { job_type: text("test"), ..all() }, SIFTED, None),
        ("job_type, rare", JobFilter { job_type: text("rare"), ..all() }, SIFTED, Some(3)),
        ("record_type, rare", JobFilter { record_type: text("order"), ..all() }, SIFTED, Some(3)),
        ("error, dense", JobFilter { error: text("SHELF"), ..all() }, SIFTED, None),
        ("error, rare", JobFilter { error: text("rare words"), ..all() }, SIFTED, Some(1)),
        ("attempt, none", JobFilter { attempt: Some(3), ..all() }, SIFTED, Some(0)),
        ("fingerprint, dense", JobFilter { fingerprint: text(DENSE_CAUSE), ..all() }, INDEXED, None),
        ("fingerprint, rare", JobFilter { fingerprint: text(RARE_FINGERPRINT), ..all() }, INDEXED, Some(1)),
        (
            "fingerprint, job_type, rare",
            JobFilter { fingerprint: text(DENSE_CAUSE), job_type: text("rare"), ..all() },
            SIFTED,
            Some(0),
        ),
        ("status, none", JobFilter { status: Some(JobStatus::ToBeRetried), ..all() }, INDEXED, Some(0)),
    ]
}

pub(super) fn must_be_within(what: &str, touched: Touched, max: u64) {
    println!("{what}: {touched:?}");
    assert!(touched.rows <= max && touched.in_sequence <= max.min(IN_SEQUENCE), "{what}: {touched:?}");
}
