//! Each filter by itself finds its jobs, however many other rows there are and whatever the planner believes about them: by an index, or page
//! by page, none of which reads more rows than allowed.

use crate::support::{Touched, World, end, given_up, sent, session, touched::Plans};
use chrono::{TimeDelta, Utc};
use insight::store::{
    job_lists, operations,
    trail::{self, TrailKeys},
};
use model::{
    actor::{Actor, ActorKind, Role, Scope},
    dead_letter_grid::GridPageRequest,
    filter::JobFilter,
    id::{AppId, JobId},
    job::{Job, JobStatus},
    matched::AtLeast,
    operation::{BulkAction, BulkStart, BulkSubject, DryRun, NewBulk},
    page::{Order, Page, PageRequest},
};
use queue::store::jobs::{self, JobSpec};
use sqlx::{
    PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use std::collections::BTreeSet;
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
const INDEXED: u64 = 2_500;
/// Most rows that a page reads when it reads ten times its size from each table, or from each integration, once to find where they end.
const AHEAD: u64 = 6_500;
/// Most rows read in sequence, from tables as small as apps and integrations are here. The smallest table that must not be read whole has
/// 15,000 rows.
const IN_SEQUENCE: u64 = 5_000;
/// Most rows that a page reads when it filters rows one by one: three thousand of each table, once to find where they end.
const SIFTED: u64 = 25_000;
/// The same for one table.
const SIFTED_IN_ONE: u64 = 8_000;

/// Fills the tables with Big's jobs and, among the oldest, one of each rare kind, which is Small's.
async fn fill(pool: &PgPool) -> AppId {
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

/// The jobs of all pages, and the number of pages.
async fn all_pages(pool: &PgPool, filter: &JobFilter, limit: i64, order: Order) -> (Vec<Job>, usize) {
    let (mut found, mut pages) = (Vec::new(), 0);
    let mut page = PageRequest { limit, after: None };
    loop {
        let Page { items, next_cursor } =
            job_lists::list_from(pool, Scope::AllApps, filter, page, order).await.unwrap();
        found.extend(items);
        pages += 1;
        let Some(cursor) = next_cursor else { return (found, pages) };
        page = PageRequest::parse(Some(limit), Some(&cursor)).unwrap();
    }
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// Each filter by itself, rare and dense, with the most rows its page may read and, where that is few, how many jobs it finds.
fn each_filter(small: AppId) -> Vec<(&'static str, JobFilter, u64, Option<usize>)> {
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

fn must_be_within(what: &str, touched: Touched, max: u64) {
    println!("{what}: {touched:?}");
    assert!(touched.rows <= max && touched.in_sequence <= max.min(IN_SEQUENCE), "{what}: {touched:?}");
}

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
async fn dead_letters_are_found_as_jobs_are(_: PgPoolOptions, options: PgConnectOptions) {
    let (pool, plans) = session(options);
    let small = fill(&pool).await;
    sqlx::raw_sql("analyze").execute(&pool).await.unwrap();
    for (what, filter, max, expected) in each_filter(small) {
        let Some(expected) = expected.filter(|_| filter.status.is_none()) else { continue };
        // One table of three.
        let (max, expected) = (if max == SIFTED { SIFTED_IN_ONE } else { max }, expected.min(1));
        let (mut found, mut page) = (0, PageRequest::default());
        loop {
            plans.touched();
            let read =
                insight::store::dead_letters::list(&pool, Scope::AllApps, &filter, page).await.unwrap();
            must_be_within(what, plans.touched(), max);
            found += read.items.len();
            let Some(cursor) = read.next_cursor else { break };
            page = PageRequest::parse(None, Some(&cursor)).unwrap();
        }
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
            let (mut found, mut page) = (0, PageRequest::default());
            loop {
                plans.touched();
                let read =
                    insight::store::dead_letters::list(&pool, Scope::AllApps, &filter, page).await.unwrap();
                must_be_within(what, plans.touched(), SIFTED_IN_ONE);
                found += read.items.len();
                let Some(cursor) = read.next_cursor else { break };
                page = PageRequest::parse(None, Some(&cursor)).unwrap();
            }
            assert_eq!(found > 0, what == "accepted before most", "{what}: {found}");
        }
    }
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
            insight::store::dead_letters::groups(&pool, Scope::AllApps, &filter, &Default::default())
                .await
                .unwrap();
            // Once to find where it ends, and once to read.
            must_be_within(
                what,
                plans.touched(),
                if what == "app, many" || max == INDEXED { INDEXED } else { 66_000 },
            );
            if what.starts_with("app, ") {
                insight::store::dead_letters::grid(
                    &pool,
                    Scope::AllApps,
                    &filter,
                    GridPageRequest::default(),
                )
                .await
                .unwrap();
                must_be_within(what, plans.touched(), INDEXED);
            }
        }
    }
    let of = async |filter: &JobFilter| {
        insight::store::dead_letters::groups(&pool, Scope::AllApps, filter, &Default::default())
            .await
            .unwrap()
            .items
    };
    let dense = of(&JobFilter { job_type: text("test"), ..Default::default() }).await;
    assert_eq!(dense.iter().map(|group| (group.count, group.is_least)).collect::<Vec<_>>(), [(3_000, true)]);
    assert_eq!(of(&JobFilter { job_type: text("rare"), ..Default::default() }).await, []);
    let expected = of(&JobFilter { record_id: text("rare"), ..Default::default() }).await;
    let shown: Vec<_> =
        expected.iter().map(|group| (group.error.as_str(), group.count, group.is_least)).collect();
    assert_eq!(shown, [("rare words", 1, false)]);
}

async fn dry_run(pool: &PgPool, action: BulkAction, filter: JobFilter) -> DryRun {
    let bulk = NewBulk {
        action,
        ids: None,
        filter: Some(filter),
        dry_run: true,
        rate_per_second: None,
        hold_seconds: None,
        reason: None,
    };
    let operator =
        Actor { kind: ActorKind::System, name: "ops".to_owned(), role: Role::Operator, app_id: None };
    let started = operations::start(pool, &operator, BulkSubject::Jobs, bulk).await.unwrap();
    let BulkStart::DryRun(dry) = started else { panic!("it was done") };
    dry
}

/// Jobs in every table, which `q` finds by one of their ids, by several, or not at all.
async fn jobs_with_similar_ids(world: &World) -> BTreeSet<JobId> {
    let (lane, worker) = (world.lane().await, world.worker().await);
    let of = |record: Option<&str>, deduplication: &str, correlation: &str| JobSpec {
        record: record.map(|id| ("product".to_owned(), id.to_owned())),
        deduplication_id: Some(
            record.map_or(deduplication.to_owned(), |id| jobs::deduplication_id("product", id)),
        ),
        correlation_id: correlation.to_owned(),
        ..world.spec(lane)
    };
    let round = [
        of(Some("x"), "", "x"),
        of(Some("y"), "", "x"),
        of(None, "x", "other"),
        of(None, "other", "x"),
        of(Some("z"), "", "z"),
    ];
    let mut ids = BTreeSet::new();
    for ending in [sent(), given_up()] {
        let made = world.accept(&round).await;
        let leased = world.claim(worker, 10).await;
        world.finish(&leased.iter().map(|job| end(job, ending.clone())).collect::<Vec<_>>()).await;
        ids.extend(made[..4].iter().map(|job| job.id));
    }
    let made = world.accept(&round).await;
    ids.extend(made[..4].iter().map(|job| job.id));
    // Successors of the running ones.
    world.claim(worker, 10).await;
    let successors = world.accept(&round[..3]).await;
    ids.extend(successors.iter().map(|job| job.id));
    sqlx::query("insert into headgate.record_counts (app_id, record_type, n) values ($1, 'product', 3)")
        .bind(world.app_id)
        .execute(&world.pool)
        .await
        .unwrap();
    ids
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_search_finds_each_job_once_by_whichever_of_its_ids(pool: PgPool) {
    let world = World::new(&pool).await;
    let expected = jobs_with_similar_ids(&world).await;
    let filter = JobFilter { q: text("x"), ..Default::default() };
    let (found, pages) = all_pages(&pool, &filter, 2, Order::Newest).await;
    assert!(pages > 5 && found.windows(2).all(|pair| pair[0].id > pair[1].id), "{pages} pages");
    assert_eq!(found.iter().map(|job| job.id).collect::<BTreeSet<_>>(), expected);
    let matched = job_lists::count(&pool, Scope::AllApps, &filter).await.unwrap().unwrap();
    assert_eq!(matched.all, AtLeast { n: expected.len() as i64, is_more: false });

    // By the job's id, and a dead letter by its own id too.
    let dead = insight::store::dead_letters::list(&pool, Scope::AllApps, &filter, PageRequest::default())
        .await
        .unwrap();
    assert_eq!(dead.items.len(), 4);
    for id in [dead.items[0].id.0, dead.items[0].job_id.0] {
        let (found, _) =
            all_pages(&pool, &JobFilter { q: Some(id.to_string()), ..Default::default() }, 2, Order::Newest)
                .await;
        assert_eq!(found.iter().map(|job| job.id).collect::<Vec<_>>(), [dead.items[0].job_id]);
    }
    let elsewhere = JobFilter { app_id: Some(AppId::generate()), ..filter.clone() };
    assert!(all_pages(&pool, &elsewhere, 2, Order::Newest).await.0.is_empty());

    // A bulk action selects what the list shows.
    let dry = dry_run(&pool, BulkAction::Cancel, filter).await;
    let live = found.iter().filter(|job| job.status.is_live()).count();
    assert_eq!((dry.matched, live), (7, 7));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_database_makes_the_same_deduplication_ids_as_rust(pool: PgPool) {
    let longest = "ä".repeat(255);
    for (record_type, record_id) in
        [("product", "1"), ("a:b%", "c:d"), ("product", &longest), (&longest, &longest)]
    {
        let expected: String = sqlx::query_scalar("select headgate.record_deduplication_id($1, $2)")
            .bind(record_type)
            .bind(record_id)
            .fetch_one(&pool)
            .await
            .unwrap();
        assert_eq!(expected, jobs::deduplication_id(record_type, record_id));
    }
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
