//! The deployment's past: one row a minute, from which it is restored exactly.

use super::world::{World, lead, take_over};
use chrono::{DateTime, TimeDelta, Utc};
use insight::live::LiveHub;
use insight::store::stats::minutes::{self, Writer};
use insight::store::stats::{self, live_snapshots};
use model::stats::{Moment, Snapshot, Window};
use model::worker::Worker;
use queue::store::{leader::Term, workers};
use sqlx::PgPool;
use tokio_util::sync::CancellationToken;

/// The deployment's current state, dated `at`.
async fn moment(pool: &PgPool, at: DateTime<Utc>) -> Moment {
    let snapshot = stats::snapshot(pool).await.unwrap();
    Moment { snapshot: Snapshot { at, ..snapshot }, workers: workers::list(pool).await.unwrap() }
}

async fn now(pool: &PgPool) -> DateTime<Utc> {
    sqlx::query_scalar("select date_trunc('minute', clock_timestamp())").fetch_one(pool).await.unwrap()
}

async fn write(writer: &mut Writer, pool: &PgPool, term: Term, minutes_ago: i64, backlog: i64) -> Moment {
    let mut moment = moment(pool, now(pool).await - TimeDelta::minutes(minutes_ago)).await;
    moment.snapshot.totals.backlog = backlog;
    assert!(writer.write(pool, term, &moment).await.unwrap());
    moment
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_minute_is_read_exactly_as_it_was_written(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    let mut writer = Writer::default();
    // From the beginning of an hour, so that all rows but the first are differences to it.
    let hour: DateTime<Utc> =
        sqlx::query_scalar("select date_trunc('hour', clock_timestamp()) - interval '3 hours'")
            .fetch_one(&pool)
            .await
            .unwrap();
    let at = |minute: i64| hour + TimeDelta::minutes(minute) + TimeDelta::seconds(1);
    let mut written = Vec::new();
    let mut record = async |minute| {
        let moment = moment(&pool, at(minute)).await;
        assert!(writer.wants(&moment.snapshot));
        assert!(writer.write(&pool, term, &moment).await.unwrap());
        assert!(!writer.wants(&moment.snapshot), "once a minute");
        written.push(moment);
    };
    record(0).await;
    record(1).await;
    world.pending(world.lane, 3, 40).await;
    world.to_be_retried(world.lane, 2, 4).await;
    world.dead_letters(world.lane, 1).await;
    record(2).await;
    let other = world.another_lane().await;
    world.processing(other, 1).await;
    world
        .run(
            "update headgate.integrations set name = 'Renamed', state = 'paused', state_reason = 'for a while';
            insert into headgate.workers (id, host, pid, version, slots, lease_until)
            values (gen_random_uuid(), 'h', 7, '1', 9, clock_timestamp() + interval '1 minute')",
        )
        .await;
    record(3).await;
    sqlx::query("delete from headgate.integrations where id = $1").bind(other).execute(&pool).await.unwrap();
    record(4).await;
    // The next hour begins with a whole row.
    record(60).await;

    assert_eq!(written[2].snapshot.totals.to_be_retried, 2);
    assert_eq!(written[3].snapshot.integrations.len(), 2);
    assert_eq!(written[3].workers.iter().map(|w: &Worker| w.pid).collect::<Vec<_>>(), [7]);
    for moment in &written {
        let read = minutes::moment(&pool, moment.snapshot.at + TimeDelta::seconds(30)).await.unwrap();
        assert_eq!(read.as_ref(), Some(moment), "{}", moment.snapshot.at);
    }
    let wholes = world.number("select count(*) from headgate.gauge_minutes where at = whole_at").await;
    assert_eq!(wholes, 2, "only the first of each hour is whole");
    let all = minutes::moments(&pool, at(1), at(61)).await.unwrap();
    assert_eq!(all, written[2..], "a range finds the whole minute before it");
    assert_eq!(minutes::moment(&pool, at(5)).await.unwrap(), None, "a gap is a gap");
    assert_eq!(minutes::nearest(&pool, at(6)).await.unwrap(), Some(minutes::minute(at(4))));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_former_leader_writes_no_minute_and_a_new_leader_begins_with_a_whole_one(pool: PgPool) {
    World::new(&pool).await;
    let old = lead(&pool).await;
    let mut writer = Writer::default();
    write(&mut writer, &pool, old, 3, 1).await;
    let term = take_over(&pool).await;
    let late = moment(&pool, now(&pool).await - TimeDelta::minutes(2)).await;
    assert!(!writer.write(&pool, old, &late).await.unwrap());
    assert_eq!(minutes::moment(&pool, late.snapshot.at).await.unwrap(), None);

    let mut new = Writer::default();
    let recorded = write(&mut new, &pool, term, 1, 2).await;
    assert_eq!(minutes::moment(&pool, recorded.snapshot.at).await.unwrap(), Some(recorded.clone()));
    // Another process wrote this minute: its row stays, and no difference is based on ours.
    let mut second = Writer::default();
    let mut again = recorded.clone();
    again.snapshot.totals.backlog = 9;
    assert!(!second.write(&pool, term, &again).await.unwrap());
    assert_eq!(minutes::moment(&pool, recorded.snapshot.at).await.unwrap(), Some(recorded));
    let next = write(&mut second, &pool, term, 0, 3).await;
    assert_eq!(minutes::moment(&pool, next.snapshot.at).await.unwrap(), Some(next));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn old_minutes_are_deleted_with_the_next_one(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world
        .run(
            "insert into headgate.total_minutes (at, sampled_at, backlog, processing, to_be_retried, dead_letters, delivered_per_minute,
                failed_per_minute, workers, retry_pyramid)
            select t, t, 0, 0, 0, 0, 0, 0, 0, '{}'
            from unnest(array[interval '7 days', interval '9 days']) age, date_trunc('minute', clock_timestamp() - age) t;
            insert into headgate.gauge_minutes (at, whole_at, body)
            select t, t, '' from unnest(array[interval '25 hours', interval '27 hours']) age, date_trunc('minute', clock_timestamp() - age) t",
        )
        .await;
    write(&mut Writer::default(), &pool, term, 0, 0).await;
    assert_eq!(world.number("select count(*) from headgate.total_minutes").await, 2);
    assert_eq!(world.number("select count(*) from headgate.gauge_minutes").await, 2);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_restarted_process_loads_the_last_hour_and_yesterdays(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    let mut writer = Writer::default();
    for minutes_ago in (1_440..1_510).rev() {
        write(&mut writer, &pool, term, minutes_ago, 10_000 + minutes_ago).await;
    }
    for minutes_ago in [70, 30, 20] {
        write(&mut writer, &pool, term, minutes_ago, minutes_ago).await;
    }
    world.pending(world.lane, 4, 0).await;
    write(&mut writer, &pool, term, 10, 10).await;
    let snapshot = stats::snapshot(&pool).await.unwrap();
    live_snapshots::write(&pool, term, &snapshot, None).await.unwrap();

    let hub = LiveHub::start(pool.clone(), CancellationToken::new());
    hub.subscribe().wait_for(|state| state.snapshot.is_some()).await.unwrap();
    let backlogs: Vec<i64> = hub.history().iter().map(|point| point.totals.backlog).collect();
    assert_eq!(backlogs, [30, 20, 10, 4], "minutes without a row are left out, not zero");
    let own: Vec<i64> = hub.backlogs(world.lane).iter().map(|(_, n)| *n).collect();
    assert_eq!(own, [0, 0, 4, 4]);
    let yesterday = hub.yesterday();
    assert!((60..=61).contains(&yesterday.minutes.len()), "{}", yesterday.minutes.len());
    assert!(yesterday.minutes.iter().all(|point| snapshot.at - point.at >= TimeDelta::hours(24)));
    assert_eq!(yesterday.retry_pyramid, Some(vec![]));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_chart_of_levels_shows_the_maximum_of_each_bucket_and_gaps_as_gaps(pool: PgPool) {
    World::new(&pool).await;
    let term = lead(&pool).await;
    let mut writer = Writer::default();
    for (minutes_ago, backlog) in [(130, 7), (129, 9), (3, 5), (0, 6)] {
        write(&mut writer, &pool, term, minutes_ago, backlog).await;
    }
    for (window, buckets) in [
        (Window::Quarter, 15),
        (Window::Hour, 60),
        (Window::SixHours, 72),
        (Window::Day, 96),
        (Window::Week, 84),
    ] {
        let levels = minutes::levels(&pool, window, None).await.unwrap();
        assert_eq!(levels.buckets.len(), buckets, "{window:?}");
        assert!(levels.buckets.iter().any(|bucket| bucket.backlog.is_none()), "{window:?}");
        assert_eq!(levels.buckets.iter().rev().find_map(|bucket| bucket.backlog), Some(6), "{window:?}");
    }
    let then = now(&pool).await - TimeDelta::minutes(120);
    let levels = minutes::levels(&pool, Window::Hour, Some(then)).await.unwrap();
    let seen: Vec<i64> = levels.buckets.iter().filter_map(|bucket| bucket.backlog).collect();
    assert_eq!(seen, [7, 9], "a window of the past ends there");
    assert_eq!(levels.buckets.last().unwrap().at, then);
}
