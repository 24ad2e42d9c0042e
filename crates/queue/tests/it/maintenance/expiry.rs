//! Expired jobs end wherever they wait.

use super::world::{lead, take_over};
use crate::support::{World, end, retried, service, session};
use chrono::{Duration as Span, Utc};
use model::id::{BatchId, IntegrationId, JobId, WorkerId};
use model::job::JobStatus;
use model::rules::verdict::ErrorKind;
use queue::QueueError;
use queue::store::jobs::{self, AttemptEnd, Ending, JobSpec};
use queue::store::leader;
use serde_json::Value;
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use std::time::Duration;

const EXPIRED: Ending = Ending::Cancelled { why: "expired" };

fn expired(spec: JobSpec) -> JobSpec {
    JobSpec { expires_at: Some(Utc::now() - Span::hours(1)), ..spec }
}

fn not_yet(spec: JobSpec) -> JobSpec {
    JobSpec { expires_at: Some(Utc::now() + Span::hours(1)), ..spec }
}

async fn run(pool: &PgPool, sql: &str) {
    sqlx::raw_sql(sqlx::AssertSqlSafe(sql.to_owned())).execute(pool).await.unwrap();
}

/// A job that has expired, one that will, and one that never does.
async fn trio(world: &World, spec: JobSpec) -> [JobId; 3] {
    let specs = [expired(spec.clone()), not_yet(spec.clone()), spec];
    world.accept(&specs).await.iter().map(|job| job.id).collect::<Vec<_>>().try_into().unwrap()
}

async fn change_lane(world: &World, lane: IntegrationId, change: &str) {
    let sql = format!("update headgate.lanes set {change} where integration_id = '{lane}'");
    run(&world.pool, &sql).await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn expired_jobs_that_no_claim_takes_end_where_they_wait(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    let mut trios = Vec::new();
    for change in [
        "is_open = false",
        "quiet_until = clock_timestamp() + interval '1 hour'",
        "breaker_cap = 0",
        "max_concurrency = 0",
        "is_external = true",
    ] {
        let lane = world.lane().await;
        change_lane(&world, lane, change).await;
        trios.push((change, trio(&world, world.spec(lane)).await));
    }
    let lane = world.lane().await;
    let tomorrow = JobSpec { run_at: Some(Utc::now() + Span::days(1)), ..world.spec(lane) };
    trios.push(("not due", trio(&world, tomorrow).await));
    // Behind a job of their key that waits for its time.
    let keyed = |spec| JobSpec { serialize_key: Some("k".into()), ..spec };
    world.accept(&[JobSpec { run_at: Some(Utc::now() + Span::days(1)), ..keyed(world.spec(lane)) }]).await;
    trios.push(("blocked", trio(&world, keyed(world.spec(lane))).await));
    let batch_id = BatchId::generate();
    sqlx::query(
        "insert into headgate.batches (id, app_id, job_type, is_paused) values ($1, $2, 'resync', true)",
    )
    .bind(batch_id)
    .bind(world.app_id)
    .execute(&pool)
    .await
    .unwrap();
    let of_batch = JobSpec {
        batch_id: Some(batch_id),
        record: Some(("product".into(), "1".into())),
        ..world.spec(lane)
    };
    trios.push(("parked", trio(&world, of_batch).await));
    let mut connection = pool.acquire().await.unwrap();
    assert_eq!(jobs::park_batch(&mut connection, batch_id, 10).await.unwrap(), 3);
    drop(connection);

    let expiry = service("expiry");
    assert!(!expiry.run_once(&pool, term).await.unwrap());
    for (how, [expired, not_yet, never]) in trios {
        let job = world.get(expired).await.job;
        assert_eq!((job.status, job.error_kind), (JobStatus::Cancelled, Some(ErrorKind::Expired)), "{how}");
        for id in [not_yet, never] {
            assert_eq!(world.get(id).await.job.status, JobStatus::Pending, "{how}");
        }
    }
    assert_eq!(world.number("select sum(cancelled)::bigint from headgate.batch_deltas").await, 1);
    assert_eq!(world.number("select sum(cancelled)::bigint from headgate.throughput_deltas").await, 8);
    world.must_be_sound().await;
}

/// The row of a finished job, without ids and times.
async fn comparable_row(world: &World, id: JobId) -> Value {
    sqlx::query_scalar(
        "select to_jsonb(f) - array['id', 'worker_id', 'created_at', 'run_at', 'expires_at', 'started_at', 'finished_at']
            || jsonb_build_object('has_begun', started_at >= expires_at and finished_at >= started_at, 'worker', worker_id is not null)
         from headgate.finished_jobs f where id = $1",
    )
    .bind(id)
    .fetch_one(&world.pool)
    .await
    .unwrap()
}

async fn let_expire(world: &World, id: JobId) {
    let sql = format!("update headgate.jobs set expires_at = clock_timestamp() where id = '{id}'");
    run(&world.pool, &sql).await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn it_leaves_the_same_rows_as_a_claim_that_finds_a_job_expired(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let batch_id = Some(BatchId::generate());
    let spec = || JobSpec { batch_id, payload: Some(serde_json::json!({"n": 1})), ..world.spec(lane) };
    for failures in [0, 2] {
        // First those of the claim, then those of the service.
        let mut left = Vec::new();
        for is_claimed in [true, false] {
            run(&pool, "truncate headgate.batch_deltas, headgate.throughput_deltas, headgate.job_attempts")
                .await;
            let id = world.accept(&[not_yet(spec())]).await[0].id;
            for _ in 0..failures {
                let leased = world.claim(worker, 1).await;
                world.finish(&[end(&leased[0], retried(Duration::ZERO))]).await;
            }
            let_expire(&world, id).await;
            if is_claimed {
                let leased = world.claim(worker, 1).await;
                assert!(leased[0].is_expired);
                world.finish(&[AttemptEnd::of(&leased[0], Duration::ZERO, EXPIRED)]).await;
            } else {
                service("expiry").run_once(&pool, term).await.unwrap();
            }
            let sums: Value = sqlx::query_scalar(
                "select jsonb_build_object(
                    'batch', (select jsonb_build_array(sum(total), sum(succeeded), sum(failed), sum(cancelled)) from headgate.batch_deltas),
                    'flow', (select jsonb_build_array(sum(completed), sum(retried), sum(cancelled), sum(duration_ms)) from headgate.throughput_deltas),
                    'attempts', (select count(*) from headgate.job_attempts))",
            )
            .fetch_one(&pool)
            .await
            .unwrap();
            let detail = world.get(id).await;
            assert_eq!(detail.job.attempt, failures + 1);
            left.push((comparable_row(&world, id).await, sums, detail.attempts.len(), detail.result));
        }
        assert_eq!(left[0], left[1], "after {failures} failures");
    }
    assert_eq!(world.number("select count(*) from headgate.ready").await, 0);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_that_runs_or_whose_expiry_was_extended_does_not_expire(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    let lane = world.lane().await;
    let change = || JobSpec { deduplication_id: Some("x".into()), ..world.spec(lane) };
    let runs = world.accept(&[not_yet(world.spec(lane))]).await[0].id;
    let worker = world.worker().await;
    assert_eq!(world.claim(worker, 1).await.len(), 1);
    let_expire(&world, runs).await;
    let folded = world.accept(&[expired(change())]).await[0].id;
    world.accept(&[not_yet(change())]).await;
    service("expiry").run_once(&pool, term).await.unwrap();
    assert_eq!(world.get(runs).await.job.status, JobStatus::Processing);
    assert_eq!(world.get(folded).await.job.status, JobStatus::Pending);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_successor_of_an_expired_job_takes_over_its_row(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let change = |id: &str, key: &str| JobSpec {
        deduplication_id: Some(id.into()),
        serialize_key: Some(key.into()),
        ..world.spec(lane)
    };
    let firsts = world.accept(&[change("x", "a"), change("y", "b")]).await;
    let leased = world.claim(worker, 2).await;
    // One of their successors has expired too. Another job waits behind the first one in its key.
    let behind = world.accept(&[change("x", "c"), expired(change("y", "d"))]).await;
    let next = world.accept(&[change("z", "a")]).await[0].id;
    let ends: Vec<AttemptEnd> =
        leased.iter().map(|job| end(job, retried(Duration::from_secs(3_600)))).collect();
    world.finish(&ends).await;
    for job in &firsts {
        let_expire(&world, job.id).await;
    }
    let expiry = service("expiry");
    expiry.run_once(&pool, term).await.unwrap();
    let status = async |id| world.get(id).await.job.status;
    assert_eq!(
        (status(firsts[0].id).await, status(firsts[1].id).await),
        (JobStatus::Cancelled, JobStatus::Cancelled)
    );
    world.must_be_sound().await;
    expiry.run_once(&pool, term).await.unwrap();
    assert_eq!(status(behind[1].id).await, JobStatus::Cancelled);
    let mut ready = world.ready().await;
    let mut expected = vec![behind[0].id, next];
    ready.sort_by_key(|id| id.0);
    expected.sort_by_key(|id| id.0);
    assert_eq!(ready, expected, "both lines go on");
    assert_eq!(world.number("select count(*) from headgate.jobs").await, 2);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn locked_jobs_are_passed_over_until_they_are_unlocked(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    let (lane, deleted) = (world.lane().await, world.lane().await);
    let keyed = || JobSpec { serialize_key: Some("k".into()), ..world.spec(lane) };
    let folded = || JobSpec { deduplication_id: Some("x".into()), ..world.spec(lane) };
    world.accept(&vec![expired(world.spec(lane)); 5]).await;
    world.accept(&[expired(keyed()), expired(folded()), expired(world.spec(deleted))]).await;
    let mut producer = pool.begin().await.unwrap();
    jobs::enqueue(&mut producer, &[keyed(), expired(folded())]).await.unwrap();
    let mut operator = pool.begin().await.unwrap();
    sqlx::query("select 1 from headgate.integrations where id = $1 for update")
        .bind(deleted)
        .execute(&mut *operator)
        .await
        .unwrap();
    // A run that waited for a lock would time out, because nothing is unlocked before.
    let expiry = service("expiry");
    assert!(!expiry.run_once(&pool, term).await.unwrap());
    assert_eq!(world.number("select count(*) from headgate.finished_jobs").await, 5);
    producer.commit().await.unwrap();
    operator.commit().await.unwrap();
    expiry.run_once(&pool, term).await.unwrap();
    assert_eq!(world.number("select count(*) from headgate.finished_jobs").await, 8);
    assert_eq!(world.ready().await.len(), 1, "the other job of the key");
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_thousand_locked_jobs_do_not_hide_the_next(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    let lane = world.lane().await;
    world.accept(&vec![expired(world.spec(lane)); 1_000]).await;
    let mut lock_holder = pool.begin().await.unwrap();
    sqlx::query("select 1 from headgate.jobs for update").execute(&mut *lock_holder).await.unwrap();
    let later = JobSpec { expires_at: Some(Utc::now() - Span::minutes(1)), ..world.spec(lane) };
    let behind = world.accept(&[later]).await[0].id;
    let expiry = service("expiry");
    assert!(expiry.run_once(&pool, term).await.unwrap(), "there may be more");
    assert!(!expiry.run_once(&pool, term).await.unwrap());
    assert_eq!(world.get(behind).await.job.status, JobStatus::Cancelled);
    lock_holder.rollback().await.unwrap();
    expiry.run_once(&pool, term).await.unwrap();
    assert_eq!(world.number("select count(*) from headgate.jobs").await, 0);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_former_leader_ends_nothing(pool: PgPool) {
    let world = World::new(&pool).await;
    let old = lead(&pool).await;
    take_over(&pool).await;
    let lane = world.lane().await;
    let id = world.accept(&[expired(world.spec(lane))]).await[0].id;
    let ran = service("expiry").run_once(&pool, old).await;
    assert!(matches!(ran, Err(QueueError::TermOver)), "{ran:?}");
    assert_eq!(world.get(id).await.job.status, JobStatus::Pending);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn finding_no_expired_job_reads_a_few_pages_whatever_waits(
    _: PgPoolOptions,
    options: PgConnectOptions,
) {
    let (pool, plans) = session(options);
    let world = World::new(&pool).await;
    let mut connection = pool.acquire().await.unwrap();
    let hour = Duration::from_secs(3_600);
    let term = leader::acquire(&mut connection, WorkerId::generate(), hour).await.unwrap().unwrap();
    drop(connection);
    let lane = world.lane().await;
    run(&pool, "alter table headgate.jobs set (autovacuum_enabled = off); analyze headgate.jobs").await;
    let expiry = service("expiry");
    // Plans are made and cached while the tables are almost empty.
    for _ in 0..8 {
        world.accept(&vec![expired(world.spec(lane)); 2]).await;
        expiry.run_once(&pool, term).await.unwrap();
    }
    run(
        &pool,
        "insert into headgate.jobs (id, app_id, integration_id, rank, max_attempts, job_type, correlation_id, expires_at)
         select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 200, 10, 'test', '', case when n % 100 = 0 then now() + interval '1 day' end
         from generate_series(1, 100000) n",
    )
    .await;
    plans.touched();
    expiry.run_once(&pool, term).await.unwrap();
    let touched = plans.touched();
    // The sixteen that expired before are dead entries of the index.
    assert!(touched.rows == 0 && touched.pages <= 20, "none: {touched:?}");

    world.accept(&vec![expired(world.spec(lane)); 100]).await;
    plans.touched();
    expiry.run_once(&pool, term).await.unwrap();
    let touched = plans.touched();
    assert_eq!(world.number("select count(*) from headgate.finished_jobs").await, 116);
    let is_bounded = touched.in_sequence <= 100 && touched.rows <= 1_000 && touched.pages <= 8_000;
    assert!(is_bounded, "a hundred: {touched:?}");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn claiming_a_job_with_an_expiry_writes_no_index(_: PgPoolOptions, options: PgConnectOptions) {
    // One session, which flushes its statistics on demand.
    let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with(options);
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    world.accept(&vec![not_yet(world.spec(lane)); 20]).await;
    let worker = world.worker().await;
    assert_eq!(world.claim(worker, 20).await.len(), 20);
    run(&pool, "select pg_stat_force_next_flush()").await;
    let updates: (i64, i64) = sqlx::query_as(
        "select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where schemaname = 'headgate' and relname = 'jobs'",
    )
    .fetch_one(&pool)
    .await
    .unwrap();
    assert_eq!(updates, (20, 20), "in place");
}
