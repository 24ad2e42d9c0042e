//! Rows past their retention are deleted, and no others; finding them reads no others.

use super::world::{World, lead};
use crate::support::session;
use chrono::{TimeDelta, Utc};
use model::id::first_id;
use model::retention::{Retained, Retentions};
use queue::{EngineConfig, QueueError, store::leader::Term};
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use std::time::Duration;
use uuid::Uuid;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) async fn delete_expired(pool: &PgPool, term: Term, kept: Retentions) -> Result<bool, QueueError> {
    let config = EngineConfig { retentions: kept, ..EngineConfig::default() };
    let services = insight::services::services(&config);
    let service = services.iter().find(|service| service.name() == "insight_retention").unwrap();
    service.run_once(pool, term).await
}

/// An id made so many days ago.
fn id_made(days_ago: i64) -> Uuid {
    let first = first_id(Utc::now() - TimeDelta::days(days_ago)).as_u128();
    Uuid::from_u128(first | Uuid::now_v7().as_u128() & (u128::MAX >> 48))
}

/// A bulk operation that took so many hours; none: it still runs.
async fn done(pool: &PgPool, days_ago: i64, took_hours: Option<f64>) {
    sqlx::query(
        "insert into headgate.operations (id, subject, action, filter, requested_by, state, matched, upper_id, created_at, finished_at)
        select $1, 'jobs', 'cancel', '{}', 'U', case when $3::float8 is null then 'running' else 'done' end, 1, $1, at,
            at + make_interval(hours => 1) * $3::float8
        from (select clock_timestamp() - make_interval(days => $2) as at) asked",
    )
    .bind(id_made(days_ago))
    .bind(i32::try_from(days_ago).unwrap())
    .bind(took_hours)
    .execute(pool)
    .await
    .unwrap();
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn operations_are_deleted_after_their_retention(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    done(&pool, 9, Some(1.0)).await;
    done(&pool, 11, Some(1.0)).await;
    // This one ran for days and ended yesterday.
    done(&pool, 12, Some(11.0 * 24.0)).await;
    done(&pool, 13, None).await;
    let kept = Retentions::default().with(Retained::Operations, DAY * 10);
    assert!(!delete_expired(&pool, term, kept).await.unwrap());
    assert_eq!(world.number("select count(*) from headgate.operations").await, 3);
    let expired = "select count(*) from headgate.operations where finished_at < now() - interval '10 days'";
    assert_eq!(world.number(expired).await, 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn finding_expired_operations_does_not_read_what_is_kept(_: PgPoolOptions, options: PgConnectOptions) {
    let (pool, plans) = session(options);
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    done(&pool, 400, Some(1.0)).await;
    world
        .run(
            "insert into headgate.operations
                (id, subject, action, filter, requested_by, state, matched, upper_id, finished_at)
            select ('fd990000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'jobs', 'cancel', '{}', 'U', 'done', 0,
                gen_random_uuid(), clock_timestamp()
            from generate_series(1, 20000) n",
        )
        .await;
    plans.touched();
    assert!(!delete_expired(&pool, term, Retentions::default()).await.unwrap());
    let touched = plans.touched();
    assert!(touched.rows < 50, "{touched:?}");
    assert_eq!(world.number("select count(*) from headgate.operations").await, 20_000);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn each_step_of_statistics_has_its_retention(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world
        .run(
            "insert into headgate.throughput (integration_id, step_seconds, bucket_at)
            select coalesce(id, gen_random_uuid()), s, clock_timestamp() - a
            from (values (null::uuid, 10, interval '59 minutes'), (null, 10, interval '2 hours'), (null, 60, interval '24 hours'),
                (null, 60, interval '26 hours'), (null, 900, interval '24 hours'), (null, 900, interval '26 hours'),
                (null, 3600, interval '89 days'), (null, 3600, interval '91 days'),
                -- Those of all integrations together.
                ('00000000-0000-0000-0000-000000000000', 60, interval '71 hours'),
                ('00000000-0000-0000-0000-000000000000', 60, interval '73 hours'),
                ('00000000-0000-0000-0000-000000000000', 900, interval '71 hours'),
                ('00000000-0000-0000-0000-000000000000', 900, interval '73 hours')) v (id, s, a)",
        )
        .await;
    assert!(!delete_expired(&pool, term, Retentions::default()).await.unwrap());
    assert_eq!(world.number("select count(*) from headgate.throughput").await, 6);
    let expired = "select count(*) from headgate.throughput where round(extract(epoch from clock_timestamp() - bucket_at) / 3600) in (2, 26, 73)
        or bucket_at < clock_timestamp() - interval '90 days'";
    assert_eq!(world.number(expired).await, 0);
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
        assert!(!delete_expired(&pool, term, Retentions::default()).await.unwrap());
        let touched = plans.touched();
        assert!(touched.rows < 100, "{statistics}: {touched:?}");
        let kept =
            "select (select count(*) from headgate.throughput) + (select count(*) from headgate.answers)
            + (select count(*) from headgate.rate_limit_use)";
        assert_eq!(world.number(kept).await, 80_000);
    }
}
