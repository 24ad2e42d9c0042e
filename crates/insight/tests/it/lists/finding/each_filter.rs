//! Lists of jobs by each filter.

use super::many_jobs::{INDEXED, SIFTED, each_filter, fill, must_be_within};
use super::{all_pages, dry_run, text};
use crate::support::{session, touched::Plans};
use insight::store::job_lists;
use insight::store::trail::{self, TrailKeys};
use model::actor::Scope;
use model::filter::JobFilter;
use model::job::JobStatus;
use model::operation::BulkAction;
use model::page::{Order, PageRequest};
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

/// Reads a page of each, then all pages of those that find few.
async fn finds_each(
    pool: &PgPool,
    plans: &Plans,
    filters: impl IntoIterator<Item = (&'static str, JobFilter, u64, Option<usize>)>,
) {
    for (what, filter, max, expected) in filters {
        plans.touched();
        job_lists::list(pool, Scope::AllApps, &filter, PageRequest::default()).await.unwrap();
        must_be_within(what, plans.touched(), max);
        if let Some(expected) = expected {
            let (found, pages) = all_pages(pool, &filter, 50, Order::Newest).await;
            assert_eq!(found.len(), expected, "{what}");
            assert_eq!(pages > 1, max == SIFTED, "{what}: {pages} pages");
        }
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn each_filter_by_itself_reads_no_more_than_it_shows(_: PgPoolOptions, options: PgConnectOptions) {
    let (pool, plans) = session(options);
    let small = fill(&pool).await;
    sqlx::raw_sql("analyze").execute(&pool).await.unwrap();
    finds_each(&pool, &plans, each_filter(small)).await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn indexes_are_used_on_stale_statistics(_: PgPoolOptions, options: PgConnectOptions) {
    let (pool, plans) = session(options);
    sqlx::raw_sql(
        "do $$
        declare name text;
        begin
            for name in select oid::regclass from pg_class where relnamespace = 'headgate'::regnamespace and relkind = 'r'
                and relname ~ '^(jobs|finished_jobs_.*|dead_letter_jobs)$'
            loop
                execute format('alter table %s set (autovacuum_enabled = off)', name);
            end loop;
        end $$;
        analyze",
    )
    .execute(&pool)
    .await
    .unwrap();
    let small = fill(&pool).await;
    finds_each(&pool, &plans, each_filter(small)).await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_trail_of_many_jobs_reads_no_more_than_it_shows(_: PgPoolOptions, options: PgConnectOptions) {
    let (pool, plans) = session(options);
    fill(&pool).await;
    sqlx::raw_sql("analyze").execute(&pool).await.unwrap();
    let keys = TrailKeys { correlation_id: text("c-dense"), ..TrailKeys::default() };
    plans.touched();
    let page = trail::trail(&pool, Scope::AllApps, &keys, PageRequest::default()).await.unwrap();
    must_be_within("a trail", plans.touched(), INDEXED);
    assert_eq!(page.items.len(), 50);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_few_that_are_due_are_found_among_all_that_wait(_: PgPoolOptions, options: PgConnectOptions) {
    let (pool, plans) = session(options);
    let small = fill(&pool).await;
    sqlx::raw_sql(
        "update headgate.jobs set status = 2, attempt = 1, retry_at = clock_timestamp() + interval '1 hour';
         update headgate.jobs set retry_at = clock_timestamp() - interval '1 second' where record_id = 'rare';
         insert into headgate.failing_jobs (job_id, integration_id, fingerprint, due_at)
         select id, integration_id, 'waits', retry_at from headgate.jobs;
         update headgate.failing_jobs f set fingerprint = 'seldom' from headgate.jobs j where j.id = f.job_id and j.record_id = 'rare';
         update headgate.jobs set started_at = clock_timestamp();
         insert into headgate.job_attempts (job_id, integration_id, attempt, outcome, response_status)
         select id, integration_id, 1, 'failed', case when record_id = 'rare' then 418 else 503 end
         from headgate.jobs",
    )
    .execute(&pool)
    .await
    .unwrap();
    let due = || JobFilter { status: Some(JobStatus::Retrying), ..JobFilter::default() };
    let waits = || JobFilter { status: Some(JobStatus::ToBeRetried), ..JobFilter::default() };
    let of_cause = || JobFilter { fingerprint: text("waits"), ..JobFilter::default() };
    for is_fresh in [false, true] {
        if is_fresh {
            sqlx::raw_sql("analyze").execute(&pool).await.unwrap();
        }
        for (what, filter, expected) in [
            ("due", due(), 1),
            ("due, of an app with few", JobFilter { app_id: Some(small), ..due() }, 1),
            ("due, by q", JobFilter { q: text("rare"), ..due() }, 1),
            ("due, of another record", JobFilter { record_id: text("8"), ..due() }, 0),
            ("waits, by q", JobFilter { q: text("8"), ..waits() }, 1),
            ("waits, of a record", JobFilter { record_id: text("8"), ..waits() }, 1),
            ("of a cause, by q", JobFilter { q: text("8"), ..of_cause() }, 1),
            ("of a cause, of a record", JobFilter { record_id: text("8"), ..of_cause() }, 1),
            ("due, by answer", JobFilter { response_status: "418".parse().ok(), ..due() }, 1),
        ] {
            plans.touched();
            let (found, pages) = all_pages(&pool, &filter, 50, Order::Newest).await;
            must_be_within(what, plans.touched(), INDEXED);
            assert_eq!((found.len(), pages), (expected, 1), "{what}");
        }
        plans.touched();
        let answered = JobFilter { response_status: "503".parse().ok(), ..waits() };
        job_lists::list(&pool, Scope::AllApps, &answered, PageRequest::default()).await.unwrap();
        must_be_within("waits, by answer", plans.touched(), INDEXED);
        plans.touched();
        let seldom = JobFilter { fingerprint: text("seldom"), ..JobFilter::default() };
        let dry = dry_run(&pool, BulkAction::Requeue, seldom).await;
        must_be_within("requeued, of a cause", plans.touched(), INDEXED);
        assert_eq!(dry.matched, 1);
    }
}
