//! In the throughput every job is in its bucket once, folded or not.

use super::delete_expired;
use super::world::{World, lead};
use insight::store::stats::{rollup, throughput, throughput_until};
use model::{actor::Scope, id::AppId, id::IntegrationId, stats::Window};
use queue::QueueError;
use sqlx::PgPool;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn every_bucket_is_there_and_folding_changes_none(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    for (completed, seconds_ago) in [(5, 0), (7, 600), (11, 3_300), (1_000, 90_000)] {
        world.finished(world.lane, completed, 1, seconds_ago).await;
    }
    for &window in Window::ALL {
        let read = || throughput(&pool, Scope::AllApps, None, window);
        let unfolded = read().await.unwrap();
        assert_eq!(unfolded.buckets.len(), usize::try_from(window.buckets()).unwrap());
        let expected = match window {
            Window::Quarter => 12,
            Window::Hour | Window::SixHours | Window::Day => 23,
            Window::Week => 1_023,
        };
        assert_eq!(
            unfolded.buckets.iter().map(|bucket| bucket.completed).sum::<i64>(),
            expected,
            "{window:?}"
        );
        let step = chrono::Duration::seconds(window.step_seconds().into());
        assert!(unfolded.buckets.windows(2).all(|pair| pair[1].at - pair[0].at == step));
    }
    let read = async |window| {
        let buckets = throughput(&pool, Scope::AllApps, None, window).await.unwrap().buckets;
        buckets.iter().map(|bucket| bucket.completed).sum::<i64>()
    };
    let before = throughput(&pool, Scope::AllApps, None, Window::Hour).await.unwrap();
    assert_eq!(rollup::throughput(&pool, term).await.unwrap(), 4);
    assert_eq!(rollup::throughput(&pool, term).await.unwrap(), 0);
    let after = throughput(&pool, Scope::AllApps, None, Window::Hour).await.unwrap();
    // A minute may have begun in between: the buckets that are in both are the same.
    for bucket in &after.buckets {
        let same = before.buckets.iter().find(|other| other.at == bucket.at);
        assert!(same.is_none_or(|other| other == bucket), "{bucket:?}");
    }
    // The deployment's throughput is read from rows of its own.
    world.run("create table headgate.apart as select * from headgate.throughput where integration_id <> '00000000-0000-0000-0000-000000000000'").await;
    world.run("delete from headgate.throughput t using headgate.apart a where a.integration_id = t.integration_id").await;
    assert_eq!(
        (read(Window::Hour).await, read(Window::Day).await, read(Window::Week).await),
        (23, 23, 1_023)
    );
    world.run("insert into headgate.throughput select * from headgate.apart").await;
    let week = throughput(&pool, Scope::AllApps, Some(world.lane), Window::Week).await.unwrap();
    assert_eq!(week.buckets.iter().map(|bucket| bucket.completed).sum::<i64>(), 1_023);
    assert_eq!(week.buckets.iter().map(|bucket| bucket.dead).sum::<i64>(), 4);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_window_that_ends_yesterday_shows_the_numbers_of_then(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    // In the hour before a moment of yesterday, at that moment, and after it.
    for (completed, seconds_ago) in [(5, 86_400 + 1_800), (7, 86_400 + 90), (100, 86_400 - 90), (1_000, 0)] {
        world.finished(world.lane, completed, 0, seconds_ago).await;
    }
    let until: chrono::DateTime<chrono::Utc> =
        sqlx::query_scalar("select clock_timestamp() - interval '1 day'").fetch_one(&pool).await.unwrap();
    let read = async |window| {
        let read = throughput_until(&pool, Scope::AllApps, None, window, Some(until)).await.unwrap();
        let last = read.buckets.last().unwrap();
        assert!(last.at <= until && until - last.at < chrono::Duration::seconds(read.step_seconds.into()));
        (read.step_seconds, read.buckets.iter().map(|bucket| bucket.completed).sum::<i64>())
    };
    for _ in ["unfolded", "folded"] {
        assert_eq!(read(Window::Quarter).await, (60, 7), "steps of 10 seconds are kept for an hour");
        assert_eq!(read(Window::Hour).await, (60, 12));
        assert_eq!(read(Window::SixHours).await.1 % 100, 12);
        rollup::throughput(&pool, term).await.unwrap();
        delete_expired(&pool, term).await.unwrap();
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_app_sees_its_own_and_nothing_else(pool: PgPool) {
    let (one, other) = (World::new(&pool).await, World::new(&pool).await);
    one.finished(one.lane, 3, 0, 0).await;
    other.finished(other.lane, 4, 0, 0).await;
    let sum =
        |throughput: model::stats::Throughput| throughput.buckets.iter().map(|b| b.completed).sum::<i64>();
    let own = throughput(&pool, Scope::App(one.app), None, Window::Hour).await.unwrap();
    assert_eq!(sum(own), 3);
    for (scope, lane) in [
        (Scope::App(one.app), other.lane),
        (Scope::App(AppId::generate()), one.lane),
        (Scope::AllApps, IntegrationId::generate()),
    ] {
        let foreign = throughput(&pool, scope, Some(lane), Window::Hour).await;
        assert!(matches!(foreign, Err(QueueError::NotFound)));
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_time_of_the_last_success_never_goes_back(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    let age = "select extract(epoch from clock_timestamp() - last_success_at)::bigint from headgate.integration_marks";
    world.finished(world.lane, 1, 0, 50).await;
    rollup::throughput(&pool, term).await.unwrap();
    assert!((50..60).contains(&world.number(age).await));
    world.finished(world.lane, 1, 0, 500).await;
    world.finished(world.lane, 0, 1, 0).await;
    rollup::throughput(&pool, term).await.unwrap();
    assert!((50..60).contains(&world.number(age).await));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn deltas_of_a_deleted_integration_do_not_stop_the_rest(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world.finished(IntegrationId::generate(), 1, 0, 0).await;
    world.finished(world.lane, 1, 0, 0).await;
    assert_eq!(rollup::throughput(&pool, term).await.unwrap(), 2);
    assert_eq!(world.number("select count(*) from headgate.integration_marks").await, 1);
}
