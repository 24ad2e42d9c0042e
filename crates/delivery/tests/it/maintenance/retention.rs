//! Rows past their retention are deleted, and no others.

use super::service_with;
use super::world::{World, lead};
use chrono::{TimeDelta, Utc};
use model::id::first_id;
use model::retention::{Retained, Retentions};
use queue::{QueueError, store::leader::Term};
use sqlx::PgPool;
use std::time::Duration;
use uuid::Uuid;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

async fn delete_expired(pool: &PgPool, term: Term, kept: Retentions) -> Result<bool, QueueError> {
    service_with(pool, "delivery_retention", kept).run_once(pool, term).await
}

/// An id made so many days ago.
fn id_made(days_ago: i64) -> Uuid {
    let first = first_id(Utc::now() - TimeDelta::days(days_ago)).as_u128();
    Uuid::from_u128(first | Uuid::now_v7().as_u128() & (u128::MAX >> 48))
}

/// A cancelled re-sync of so many days ago; if `is_cancelling`, its waiting jobs are still being cancelled.
async fn resynced(world: &World, days_ago: i64, is_cancelling: bool) {
    sqlx::query(
        "with batch as (
            insert into headgate.batches (id, app_id, integration_id, job_type, completed_at)
            values ($1, $2, $3, 'resync', clock_timestamp())
            returning id
        )
        insert into headgate.resyncs (id, app_id, integration_id, batch_id, mode, requested_by, state, is_cancelling, finished_at)
        select id, $2, $3, id, 'full', 'U', 'cancelled', $5, clock_timestamp() - make_interval(days => $4) from batch",
    )
    .bind(id_made(days_ago))
    .bind(world.app)
    .bind(world.lane)
    .bind(i32::try_from(days_ago).unwrap())
    .bind(is_cancelling)
    .execute(&world.pool)
    .await
    .unwrap();
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn history_is_deleted_after_its_retention(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    resynced(&world, 9, false).await;
    resynced(&world, 11, false).await;
    resynced(&world, 12, true).await;
    world
        .run(
            "insert into headgate.deletions (id, app_id, integration_ids, name, requested_by, matched, finished_at)
            select id, gen_random_uuid(), '{}'::uuid[], 'A', 'U', 0, clock_timestamp() - interval '11 days' from headgate.resyncs
            union all
            select gen_random_uuid(), gen_random_uuid(), '{}'::uuid[], 'A', 'U', 0, null",
        )
        .await;
    let kept = Retained::ALL.iter().fold(Retentions::default(), |kept, &what| kept.with(what, DAY * 10));
    assert!(!delete_expired(&pool, term, kept).await.unwrap());
    for (left, sql) in [
        (2, "select count(*) from headgate.resyncs"),
        (2, "select count(*) from headgate.batches"),
        // The unfinished one, and the one whose id is nine days old.
        (2, "select count(*) from headgate.deletions"),
    ] {
        assert_eq!(world.number(sql).await, left, "{sql}");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn event_ids_are_deleted_after_their_retention(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world
        .run(
            "insert into headgate.event_ids (app_id, id, accepted_at)
            select gen_random_uuid(), 'e', clock_timestamp() - age
            from unnest(array[interval '23 hours', interval '25 hours', interval '9 days']) age",
        )
        .await;
    let left = "select count(*) from headgate.event_ids";
    let longer = Retentions::default().with(Retained::EventIds, DAY * 7);
    assert!(!delete_expired(&pool, term, longer).await.unwrap());
    assert_eq!(world.number(left).await, 2);
    assert!(!delete_expired(&pool, term, Retentions::default()).await.unwrap());
    assert_eq!(world.number(left).await, 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn empty_counters_are_deleted(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    sqlx::query(
        "with records as (
            insert into headgate.record_counts values ($1, 'none', 0), ($1, 'some', 1), ($1, 'gone', 0)
        ), in_sync as (
            insert into headgate.in_sync_counts values ($2, 'none', 0), ($2, 'some', 1), (gen_random_uuid(), 'deleted', 1)
        )
        insert into headgate.dead_letter_jobs (id, job_id, app_id, integration_id, created_at, run_at, rank, priority, attempt,
            max_attempts, is_full, folded, job_type, correlation_id, error_kind, error_message, fingerprint, attempts, record_type, record_id)
        values (gen_random_uuid(), gen_random_uuid(), $1, $2, now(), now(), 200, 0, 10, 10, false, 0, 'test', '',
            'not_retryable', 'no such shelf', 'f', '[]', 'gone', '1')",
    )
    .bind(world.app)
    .bind(world.lane)
    .execute(&pool)
    .await
    .unwrap();
    assert!(!delete_expired(&pool, term, Retentions::default()).await.unwrap());
    let left =
        async |sql: &'static str| -> String { sqlx::query_scalar(sql).fetch_one(&pool).await.unwrap() };
    let types = "select string_agg(record_type, ' ' order by record_type) from headgate.record_counts";
    assert_eq!(left(types).await, "gone some", "jobs are found by the record type of a record that is gone");
    assert_eq!(left("select string_agg(record_type, ' ') from headgate.in_sync_counts").await, "some");
}
