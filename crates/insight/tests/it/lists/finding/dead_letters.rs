//! Lists and groups of dead letters by each filter.

use super::many_jobs::{INDEXED, SIFTED, SIFTED_IN_ONE, each_filter, fill, must_be_within};
use super::text;
use crate::support::{session, touched::Plans};
use chrono::{TimeDelta, Utc};
use insight::store::dead_letters;
use model::{
    actor::Scope, dead_letter_grid::GridPageRequest, filter::JobFilter, job::JobStatus, page::PageRequest,
};
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

/// The number of dead letters on all pages, none of which reads more than `max` rows.
async fn count_page_by_page(pool: &PgPool, plans: &Plans, what: &str, filter: &JobFilter, max: u64) -> usize {
    let (mut found, mut page) = (0, PageRequest::default());
    loop {
        plans.touched();
        let read = dead_letters::list(pool, Scope::AllApps, filter, page).await.unwrap();
        must_be_within(what, plans.touched(), max);
        found += read.items.len();
        let Some(cursor) = read.next_cursor else { return found };
        page = PageRequest::parse(None, Some(&cursor)).unwrap();
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn dead_letters_are_found_as_jobs_are(_: PgPoolOptions, options: PgConnectOptions) {
    let (pool, plans) = session(options);
    let small = fill(&pool).await;
    sqlx::raw_sql("analyze").execute(&pool).await.unwrap();
    for (what, filter, max, expected) in each_filter(small) {
        let Some(expected) = expected.filter(|_| filter.status.is_none()) else { continue };
        // One table of three.
        let (max, expected) = (if max == SIFTED { SIFTED_IN_ONE } else { max }, expected.min(1));
        let found = count_page_by_page(&pool, &plans, what, &filter, max).await;
        assert_eq!(found, expected, "{what}");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn dead_letters_by_creation_time_are_searched_page_by_page(
    _: PgPoolOptions,
    options: PgConnectOptions,
) {
    let (pool, plans) = session(options);
    fill(&pool).await;
    for is_fresh in [false, true] {
        if is_fresh {
            sqlx::raw_sql("analyze").execute(&pool).await.unwrap();
        }
        let ago = |minutes| Some(Utc::now() - TimeDelta::minutes(minutes));
        for (what, filter) in [
            ("accepted before most", JobFilter { created_before: ago(89), ..JobFilter::default() }),
            ("accepted before all", JobFilter { created_before: ago(120), ..JobFilter::default() }),
            ("accepted after all", JobFilter { created_after: ago(1), ..JobFilter::default() }),
        ] {
            let found = count_page_by_page(&pool, &plans, what, &filter, SIFTED_IN_ONE).await;
            assert_eq!(found > 0, what == "accepted before most", "{what}: {found}");
        }
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn uncounted_groups_of_dead_letters_read_only_the_newest(_: PgPoolOptions, options: PgConnectOptions) {
    let (pool, plans) = session(options);
    sqlx::raw_sql("alter table headgate.dead_letter_jobs set (autovacuum_enabled = off); analyze")
        .execute(&pool)
        .await
        .unwrap();
    let small = fill(&pool).await;
    // So that the rare one is the oldest.
    sqlx::raw_sql(
        "insert into headgate.dead_letter_jobs (id, job_id, app_id, integration_id, created_at, run_at, rank, priority, attempt, max_attempts,
            is_full, folded, job_type, correlation_id, error_kind, error_message, fingerprint, attempts)
        select headgate_id, headgate_id, app_id, integration_id, at, at, 0, 0, 10, 10, false, 0, 'test', '', 'not_retryable', 'no shelf',
            md5(integration_id::text), '[]'
        from (
            select (lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(g), 19, '0'))::uuid
                    as headgate_id,
                '00000000-0000-7000-a000-000000000001'::uuid as app_id, '00000000-0000-7000-9000-000000000001'::uuid as integration_id,
                clock_timestamp() as at
            from generate_series(1, 30000) g
        ) made",
    )
    .execute(&pool)
    .await
    .unwrap();
    for statistics in ["select", "analyze"] {
        sqlx::raw_sql(statistics).execute(&pool).await.unwrap();
        let mut filters = each_filter(small);
        let failed = JobFilter { status: Some(JobStatus::Failed), ..JobFilter::default() };
        filters.push(("status, all", failed, INDEXED, None));
        for (what, filter, max, _) in filters {
            if filter.status.is_some_and(|status| status != JobStatus::Failed) {
                continue;
            }
            plans.touched();
            dead_letters::groups(&pool, Scope::AllApps, &filter, &Default::default()).await.unwrap();
            // Once to find where it ends, and once to read.
            must_be_within(
                what,
                plans.touched(),
                if what == "app, many" || max == INDEXED { INDEXED } else { 66_000 },
            );
            if what.starts_with("app, ") {
                dead_letters::grid(&pool, Scope::AllApps, &filter, GridPageRequest::default()).await.unwrap();
                must_be_within(what, plans.touched(), INDEXED);
            }
        }
    }
    let of = async |filter: &JobFilter| {
        dead_letters::groups(&pool, Scope::AllApps, filter, &Default::default()).await.unwrap().items
    };
    let dense = of(&JobFilter { job_type: text("test"), ..Default::default() }).await;
    assert_eq!(dense.iter().map(|group| (group.count, group.is_least)).collect::<Vec<_>>(), [(3_000, true)]);
    assert_eq!(of(&JobFilter { job_type: text("rare"), ..Default::default() }).await, []);
    let expected = of(&JobFilter { record_id: text("rare"), ..Default::default() }).await;
    let shown: Vec<_> =
        expected.iter().map(|group| (group.error.as_str(), group.count, group.is_least)).collect();
    assert_eq!(shown, [("rare words", 1, false)]);
}
