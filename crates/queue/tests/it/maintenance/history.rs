//! History is kept for as long as the deployment says, and deleted records until nobody needs them; finding expired rows reads no others.

use super::world::{World, delete_history, lead};
use crate::support::session;
use chrono::{TimeDelta, Utc};
use insight::services::InsightRetention;
use model::{
    id::first_id,
    retention::{Retained, Retentions},
};
use queue::{
    maintenance::{DeletedRecords, Retention, Service as _},
    store::{
        leader::Term,
        retention::{TombstoneCursor, remove_tombstones},
    },
};
use sqlx::{
    PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use std::time::Duration;
use uuid::Uuid;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// An id made so many days ago.
fn id_made(days_ago: i64) -> Uuid {
    let first = first_id(Utc::now() - TimeDelta::days(days_ago)).as_u128();
    Uuid::from_u128(first | Uuid::now_v7().as_u128() & (u128::MAX >> 48))
}

/// A line of the audit log, and a bulk action that took so many hours; none: it still runs.
async fn done(pool: &PgPool, days_ago: i64, took_hours: Option<f64>) {
    sqlx::query(
        "with line as (
            insert into headgate.audit_log (id, at, actor_kind, actor_id, actor_name, role, action, object_kind)
            values ($1, clock_timestamp() - make_interval(days => $2), 'user', 'u', 'U', 'operator', 'job.bulk_cancel', 'job')
        )
        insert into headgate.operations (id, subject, action, filter, requested_by, state, matched, upper_id, created_at, finished_at)
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
    done(&pool, 9, Some(1.0)).await;
    done(&pool, 11, Some(1.0)).await;
    // This one ran for days and ended yesterday.
    done(&pool, 12, Some(11.0 * 24.0)).await;
    done(&pool, 13, None).await;
    resynced(&world, 9, false).await;
    resynced(&world, 11, false).await;
    resynced(&world, 12, true).await;
    let kept = Retained::ALL.iter().fold(Retentions::default(), |kept, &what| kept.with(what, DAY * 10));
    assert!(!Retention::new(kept).run_once(&pool, term).await.unwrap());
    assert!(!InsightRetention::new(kept).run_once(&pool, term).await.unwrap());
    for (left, sql) in [
        (3, "select count(*) from headgate.operations"),
        (0, "select count(*) from headgate.operations where finished_at < now() - interval '10 days'"),
        (1, "select count(*) from headgate.audit_log"),
        (2, "select count(*) from headgate.resyncs"),
        (2, "select count(*) from headgate.batches"),
    ] {
        assert_eq!(world.number(sql).await, left, "{sql}");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn finding_expired_history_does_not_read_what_is_kept(_: PgPoolOptions, options: PgConnectOptions) {
    let (pool, plans) = session(options);
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    done(&pool, 400, Some(1.0)).await;
    world
        .run(
            "insert into headgate.audit_log (id, actor_kind, actor_id, actor_name, role, action, object_kind)
            select ('fd990000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'user', 'u', 'U', 'operator', 'a', 'job'
            from generate_series(1, 20000) n;
            insert into headgate.operations
                (id, subject, action, filter, requested_by, state, matched, upper_id, finished_at)
            select ('fd990000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'jobs', 'cancel', '{}', 'U', 'done', 0,
                gen_random_uuid(), clock_timestamp()
            from generate_series(1, 20000) n",
        )
        .await;
    plans.touched();
    assert!(!delete_history(&pool, term, Retentions::default()).await.unwrap());
    let touched = plans.touched();
    assert!(touched.rows < 50, "{touched:?}");
    assert_eq!(world.number("select count(*) from headgate.audit_log").await, 20_000);
    assert_eq!(world.number("select count(*) from headgate.operations").await, 20_000);
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
    assert!(!delete_history(&pool, term, longer).await.unwrap());
    assert_eq!(world.number(left).await, 2);
    assert!(!delete_history(&pool, term, Retentions::default()).await.unwrap());
    assert_eq!(world.number(left).await, 1);
}

/// Records of the world's app, the first `deleted` of which were deleted a year ago.
async fn records(world: &World, count: i32, deleted: i32) {
    sqlx::query(
        "insert into headgate.records (app_id, record_type, record_id, attributes, attribute_bytes, deleted_at)
        select $1, 'product', n::text, '{}', 2, case when n <= $3 then clock_timestamp() - interval '1 year' end
        from generate_series(1, $2) n",
    )
    .bind(world.app)
    .bind(count)
    .bind(deleted)
    .execute(&world.pool)
    .await
    .unwrap();
}

/// Marks some of them as sent to the external system.
async fn sent(world: &World, first: i32, last: i32) {
    sqlx::query(
        "insert into headgate.sent_records (integration_id, record_type, record_id, version, attributes)
        select $1, 'product', n::text, 1, '{}' from generate_series($2, $3) n",
    )
    .bind(world.lane)
    .bind(first)
    .bind(last)
    .execute(&world.pool)
    .await
    .unwrap();
}

/// Runs a pass over all tombstones and returns the number of portions.
async fn pass(pool: &PgPool, term: Term) -> usize {
    let service = DeletedRecords::new(Retentions::default());
    let mut portions = 1;
    while service.run_once(pool, term).await.unwrap() {
        portions += 1;
    }
    portions
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_deleted_record_is_removed_when_no_system_has_it(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    records(&world, 6, 5).await;
    let left = async || -> String {
        sqlx::query_scalar("select string_agg(record_id, ' ' order by record_id) from headgate.records")
            .fetch_one(&pool)
            .await
            .unwrap()
    };
    // Record 2 was sent to it, 3 perhaps; 4 was deleted only yesterday; 5 is just being created again.
    sent(&world, 2, 2).await;
    sqlx::query("insert into headgate.uncertain_records values ($1, 'product', '3', null)")
        .bind(world.lane)
        .execute(&pool)
        .await
        .unwrap();
    world
        .run("update headgate.records set deleted_at = now() - interval '1 day' where record_id = '4'")
        .await;
    let mut recreation = pool.begin().await.unwrap();
    sqlx::query("select from headgate.records where record_id = '5' for update")
        .execute(&mut *recreation)
        .await
        .unwrap();
    pass(&pool, term).await;
    assert_eq!(left().await, "2 3 4 5 6");
    recreation.rollback().await.unwrap();
    // The deletion was sent.
    world.run("delete from headgate.sent_records; delete from headgate.uncertain_records").await;
    pass(&pool, term).await;
    assert_eq!(left().await, "4 6");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn tombstones_that_must_stay_do_not_block_others(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    records(&world, 4_100, 4_100).await;
    // More than a portion, and the oldest ones.
    sent(&world, 1, 4_000).await;
    world
        .run(
            "update headgate.records set deleted_at = deleted_at - interval '1 day' where record_id::int <= 4000",
        )
        .await;
    assert_eq!(pass(&pool, term).await, 3);
    assert_eq!(world.number("select count(*) from headgate.records").await, 4_000);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn finding_tombstones_does_not_read_the_catalog(_: PgPoolOptions, options: PgConnectOptions) {
    let (pool, plans) = session(options);
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    records(&world, 20_000, 20).await;
    sent(&world, 11, 20_000).await;
    let kept = Retentions::default().of(Retained::DeletedRecords);
    for statistics in ["select", "analyze headgate.records, headgate.sent_records"] {
        world.run(statistics).await;
        plans.touched();
        remove_tombstones(&pool, term, kept, &TombstoneCursor::default()).await.unwrap();
        let touched = plans.touched();
        assert!(touched.rows < 200, "{statistics}: {touched:?}");
    }
    assert_eq!(world.number("select count(*) from headgate.records").await, 19_990);
}
