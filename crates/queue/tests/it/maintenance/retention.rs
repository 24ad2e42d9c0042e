//! Rows past their retention are deleted, and no others.

use super::world::{World, delete_expired, lead, take_over};
use crate::support::session;
use model::retention::Retentions;
use queue::{
    QueueError,
    maintenance::{Retention, Service as _},
    store::workers,
};
use sqlx::{
    PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn expired_rows_are_deleted_and_the_rest_stays(pool: PgPool) {
    let world = World::new(&pool).await;
    world
        .run(
            "insert into headgate.throughput (integration_id, step_seconds, bucket_at)
            select gen_random_uuid(), s, clock_timestamp() - a
            from (values (10, interval '59 minutes'), (10, interval '2 hours'), (60, interval '24 hours'), (60, interval '26 hours'),
                (3600, interval '89 days'), (3600, interval '91 days')) v (s, a);
            insert into headgate.idempotency_keys (owner, method, path, key, body_hash, created_at)
            select 'o', 'POST', '/', k, '', clock_timestamp() - a
            from (values ('new', interval '23 hours'), ('old', interval '25 hours')) v (k, a);
            insert into headgate.users (id, email, name, role)
            values ('00000000-0000-7000-8000-000000000001', 'a@x.test', 'A', 'operator');
            insert into headgate.sessions (token_hash, user_id, expires_at)
            select h::bytea, '00000000-0000-7000-8000-000000000001', clock_timestamp() + a
            from (values ('new', interval '1 hour'), ('old', interval '-1 minute')) v (h, a);
            insert into headgate.sign_in_links (token_hash, user_id, expires_at, used_at)
            select h::bytea, '00000000-0000-7000-8000-000000000001', clock_timestamp() + a, null
            from (values ('new', interval '1 hour'), ('old', interval '-2 days')) v (h, a);
            insert into headgate.sign_in_throttles values ('new', (extract(epoch from now()) * 1000000)::bigint), ('old', 1);
            insert into headgate.job_counts values (gen_random_uuid(), 0, 0, 0), (gen_random_uuid(), 0, 0, 1)",
        )
        .await;
    let old = lead(&pool).await;
    let term = take_over(&pool).await;
    let left = "select (select count(*) from headgate.throughput) * 100000 + (select count(*) from headgate.idempotency_keys) * 10000
        + (select count(*) from headgate.sessions) * 1000 + (select count(*) from headgate.sign_in_links) * 100
        + (select count(*) from headgate.sign_in_throttles) * 10 + (select count(*) from headgate.job_counts)";
    assert!(matches!(delete_expired(&pool, old).await, Err(QueueError::LeaseLost)));
    assert_eq!(world.number(left).await, 622_222);
    assert!(!delete_expired(&pool, term).await.unwrap());
    assert_eq!(world.number(left).await, 311_111);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn workers_dead_for_long_are_removed_unless_they_have_claims(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world
        .run(
            "insert into headgate.workers (id, host, pid, version, slots, lease_until)
            select ('00000000-0000-7000-8000-00000000000' || n)::uuid, 'h', n, '1', 1, clock_timestamp() + a
            from (values (1, interval '10 seconds'), (2, interval '-1 minute'), (3, interval '-1 hour'), (4, interval '-1 hour')) v (n, a);
            insert into headgate.claim_batches (id, worker_id, job_ids)
            values (gen_random_uuid(), '00000000-0000-7000-8000-000000000004', '{}')",
        )
        .await;
    assert_eq!(workers::remove_dead(&pool, term).await.unwrap(), 1);
    assert_eq!(world.number("select sum(pid) from headgate.workers").await, 7);
    // The second one was lost a minute ago, and is listed as lost.
    let mut live = workers::list(&pool).await.unwrap();
    assert_eq!(live.len(), 2);
    live.retain(|worker| worker.lease != model::worker::LeaseState::Lost);
    assert_eq!(live.iter().map(|worker| (worker.pid, worker.is_leader)).collect::<Vec<_>>(), [(1, false)]);
    let drained = workers::drain(&mut pool.acquire().await.unwrap(), live[0].id).await.unwrap();
    assert!(drained.is_draining);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn system_events_are_kept_for_a_month_and_the_running_version_forever(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world
        .run(
            "insert into headgate.workers (id, host, pid, version, slots, lease_until)
            values (gen_random_uuid(), 'h', 1, 'runs', 1, clock_timestamp() + interval '1 minute');
            insert into headgate.system_events (id, at, kind, version)
            select gen_random_uuid(), clock_timestamp() - a, k, v
            from (values ('start', 'runs', interval '29 days'), ('start', 'runs', interval '31 days'), ('version', 'runs', interval '31 days'),
                ('version', 'gone', interval '31 days')) v (k, v, a)",
        )
        .await;
    assert!(!delete_expired(&pool, term).await.unwrap());
    let left: Vec<(String, String)> =
        sqlx::query_as("select kind, version from headgate.system_events order by kind")
            .fetch_all(&pool)
            .await
            .unwrap();
    let kept = |kind: &str| (kind.to_owned(), "runs".to_owned());
    assert_eq!(left, [kept("start"), kept("version")]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn claims_whose_jobs_have_all_ended_are_deleted(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world.processing(world.lane, 1).await;
    world
        .run(
            "insert into headgate.claim_batches (id, worker_id, job_ids, claimed_at)
            select gen_random_uuid(), worker_id, array[id, gen_random_uuid()], now() - interval '1 hour' from headgate.jobs
            union all
            select gen_random_uuid(), gen_random_uuid(), array[id], now() - interval '1 hour' from headgate.jobs
            union all
            select gen_random_uuid(), gen_random_uuid(), array[id], now() from headgate.jobs",
        )
        .await;
    let count = async || -> i64 {
        sqlx::query_scalar("select count(*) from headgate.claim_batches").fetch_one(&pool).await.unwrap()
    };
    let before = count().await;
    for _ in 0..2 {
        assert_eq!(workers::remove_ended_claims(&pool, term, None).await.unwrap(), None);
        assert_eq!(count().await, before - 1);
    }
    assert_eq!(world.number("select count(*) from headgate.claim_batches").await, 2);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn rows_that_cannot_be_deleted_do_not_block_others(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world
        .run(
            "insert into headgate.idempotency_keys (owner, method, path, key, body_hash, created_at)
                values ('o', 'POST', '/', 'k', '', clock_timestamp() - interval '2 days');
            insert into headgate.sign_in_throttles values ('old', 1);
            create function refuse() returns trigger language plpgsql as $$ begin raise 'poisonous'; end $$;
            create trigger poison before delete on headgate.sign_in_throttles for each row execute function refuse();
            select headgate.make_partition('finished_jobs', '2020-02-29')",
        )
        .await;
    let service = Retention::new(Retentions::default());
    assert!(service.run_once(&pool, term).await.is_err(), "it reports the failure");
    assert_eq!(world.number("select count(*) from headgate.idempotency_keys").await, 0);
    assert_eq!(
        world.number("select count(*) from pg_class where relname = 'finished_jobs_20200229'").await,
        0
    );
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn finding_expired_statistics_does_not_read_what_is_kept(_: PgPoolOptions, options: PgConnectOptions) {
    let (pool, plans) = session(options);
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world
        .run(
            "do $$
            declare name text;
            begin
                foreach name in array array['throughput', 'answers', 'rate_limit_use'] loop
                    execute format('alter table headgate.%I set (autovacuum_enabled = off)', name);
                end loop;
            end $$;
            analyze;
            insert into headgate.throughput (integration_id, step_seconds, bucket_at)
            select gen_random_uuid(), s, clock_timestamp() - interval '1 minute'
            from unnest(array[10, 60, 900, 3600]) s cross join generate_series(1, 10000) n;
            insert into headgate.answers (integration_id, step_seconds, bucket_at, status, n)
            select gen_random_uuid(), s, clock_timestamp() - interval '1 minute', 200, 1
            from unnest(array[60, 3600]) s cross join generate_series(1, 10000) n;
            insert into headgate.rate_limit_use (key, step_seconds, bucket_at, given, requests, per_seconds)
            select n::text, s, clock_timestamp() - interval '1 minute', 1, 1, 1
            from unnest(array[60, 900]) s cross join generate_series(1, 10000) n",
        )
        .await;
    for statistics in ["select", "analyze"] {
        world
            .run(
                "insert into headgate.throughput (integration_id, step_seconds, bucket_at)
                select gen_random_uuid(), s, clock_timestamp() - interval '91 days' from unnest(array[10, 60, 900, 3600]) s;
                insert into headgate.answers (integration_id, step_seconds, bucket_at, status, n)
                select gen_random_uuid(), s, clock_timestamp() - interval '91 days', 200, 1 from unnest(array[60, 3600]) s;
                insert into headgate.rate_limit_use (key, step_seconds, bucket_at, given, requests, per_seconds)
                select 'old', s, clock_timestamp() - interval '91 days', 1, 1, 1 from unnest(array[60, 900]) s",
            )
            .await;
        world.run(statistics).await;
        plans.touched();
        assert!(!delete_expired(&pool, term).await.unwrap());
        let touched = plans.touched();
        assert!(touched.rows < 100, "{statistics}: {touched:?}");
        let kept =
            "select (select count(*) from headgate.throughput) + (select count(*) from headgate.answers)
            + (select count(*) from headgate.rate_limit_use)";
        assert_eq!(world.number(kept).await, 80_000);
    }
}
