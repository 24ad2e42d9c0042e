//! Latencies are kept as histograms, and reading them gives the same before and after folding.

use super::delete_expired;
use super::world::{World, lead, take_over};
use crate::support::{self, Script, World as Jobs, ok};
use insight::store::stats;
use insight::store::stats::latency::{fold, recent};
use model::actor::Scope;
use model::histogram::Percentiles;
use model::id::IntegrationId;
use model::stats::{Throughput, Window};
use queue::store::counts::latency::{Spans, append};
use sqlx::PgPool;
use std::{collections::HashMap, time::Duration};

fn spans(attempts_ms: &[u64], waits_ms: &[u64]) -> Spans {
    let mut spans = Spans::default();
    attempts_ms.iter().for_each(|ms| spans.attempt_took(Duration::from_millis(*ms)));
    waits_ms.iter().for_each(|ms| spans.job_waited(Duration::from_millis(*ms)));
    spans
}

async fn append_spans(pool: &PgPool, lane: IntegrationId, attempts_ms: &[u64], waits_ms: &[u64]) {
    append(pool, &HashMap::from([(lane, spans(attempts_ms, waits_ms))])).await.unwrap();
}

async fn read(pool: &PgPool, scope: Scope, lane: Option<IntegrationId>, window: Window) -> Throughput {
    stats::throughput(pool, scope, lane, window).await.unwrap()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn percentiles_are_the_same_before_and_after_folding(pool: PgPool) {
    let world = World::new(&pool).await;
    let other = world.another_lane().await;
    let term = lead(&pool).await;
    let hundred: Vec<u64> = (1..=100).map(|n| n * 10).collect();
    append_spans(&pool, world.lane, &hundred, &[3]).await;
    append_spans(&pool, other, &[60_000], &[]).await;
    let lane = Some(world.lane);
    for &window in Window::ALL {
        let unfolded = read(&pool, Scope::AllApps, lane, window).await;
        let latency = unfolded.latency.unwrap();
        assert_eq!(latency.count, 100);
        for (estimate, truth) in [(latency.p50_ms, 500), (latency.p95_ms, 950), (latency.p99_ms, 990)] {
            assert!((estimate as f64 / f64::from(truth) - 1.0).abs() < 0.102, "{latency:?}");
        }
        assert_eq!(unfolded.wait, Some(Percentiles { count: 1, p50_ms: 3, p95_ms: 3, p99_ms: 3 }));
        let of_all = read(&pool, Scope::AllApps, None, window).await;
        assert_eq!(of_all.latency.unwrap().count, 101);
        assert_eq!(of_all.buckets.iter().filter_map(|b| b.latency).map(|l| l.count).sum::<i64>(), 101);
    }
    let before = recent(&pool, None).await.unwrap();
    assert_eq!(fold(&pool, term).await.unwrap(), 2);
    assert_eq!(fold(&pool, term).await.unwrap(), 0);
    assert_eq!(recent(&pool, None).await.unwrap(), before);
    for &window in Window::ALL {
        let (one, all, own) = (
            read(&pool, Scope::AllApps, lane, window).await,
            read(&pool, Scope::AllApps, None, window).await,
            read(&pool, Scope::App(world.app), None, window).await,
        );
        assert_eq!((one.latency.unwrap().count, one.wait.unwrap().count), (100, 1), "{window:?}");
        assert_eq!(all.latency.unwrap().count, 101, "{window:?}");
        assert_eq!(own.latency, all.latency, "the app has all there are");
    }
    // Later spans are added to the existing rows.
    append_spans(&pool, world.lane, &[20, 30], &[]).await;
    fold(&pool, term).await.unwrap();
    assert_eq!(read(&pool, Scope::AllApps, lane, Window::Hour).await.latency.unwrap().count, 102);
    let sum = world.number("select (select sum(n) from unnest(latency) n)::bigint * 1000000000 + latency_us / 1000 from headgate.totals").await;
    assert_eq!(sum, 103 * 1_000_000_000 + 50_500 + 60_000 + 50);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_app_sees_only_its_own_latencies(pool: PgPool) {
    let (one, other) = (World::new(&pool).await, World::new(&pool).await);
    let term = lead(&pool).await;
    append_spans(&pool, one.lane, &[10], &[]).await;
    append_spans(&pool, other.lane, &[10, 20], &[]).await;
    for _ in 0..2 {
        let own = read(&pool, Scope::App(other.app), None, Window::Hour).await;
        assert_eq!(own.latency.unwrap().count, 2);
        fold(&pool, term).await.unwrap();
    }
    let throughput = read(&pool, Scope::AllApps, None, Window::Hour).await;
    assert_eq!(throughput.buckets.iter().map(|bucket| bucket.completed).sum::<i64>(), 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn gauges_cover_the_last_five_minutes(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    append_spans(&pool, world.lane, &[70; 3], &[]).await;
    sqlx::query("update headgate.latency_deltas set at = at - interval '7 minutes'")
        .execute(&pool)
        .await
        .unwrap();
    fold(&pool, term).await.unwrap();
    let silent = stats::gauge(&pool, Scope::AllApps, world.lane).await.unwrap();
    assert_eq!((silent.latency, silent.wait), (None, None));
    append_spans(&pool, world.lane, &[70; 5], &[900]).await;
    let gauge = stats::gauge(&pool, Scope::AllApps, world.lane).await.unwrap();
    assert_eq!(gauge.latency.map(|latency| latency.count), Some(5));
    let sampled = stats::snapshot(&pool).await.unwrap().integrations.remove(0);
    assert_eq!((sampled.latency, sampled.wait), (gauge.latency, gauge.wait));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_former_leader_folds_no_latencies(pool: PgPool) {
    let world = World::new(&pool).await;
    let old = lead(&pool).await;
    let new = take_over(&pool).await;
    append_spans(&pool, world.lane, &[1], &[1]).await;
    assert_eq!(fold(&pool, old).await.unwrap(), 0);
    assert_eq!(world.number("select count(*) from headgate.throughput").await, 0);
    assert_eq!(fold(&pool, new).await.unwrap(), 1);
    // Three steps for the integration and for all together; the daily chart's step for all and for the app.
    assert_eq!(world.number("select count(*) from headgate.throughput").await, 8);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_running_engine_measures_attempts_and_waits(pool: PgPool) {
    let jobs = Jobs::new(&pool).await;
    let lane = jobs.lane().await;
    jobs.accept_plain(lane, 5).await;
    sqlx::query("update headgate.jobs set created_at = created_at - interval '1 minute', run_at = run_at - interval '1 minute'")
        .execute(&pool)
        .await
        .unwrap();
    let engine = support::start(&pool, support::config(), Script::new(|_| Box::pin(async { ok() })));
    support::until_recorded(&engine, 5).await;
    let watch = engine.watch();
    let report = watch.report();
    assert_eq!((report.slots, report.recorded, report.lost_leases), (20, 5, 0));
    assert!(report.is_registered && !report.is_stopping && report.trouble().is_none());
    assert_eq!((report.claims.jobs, report.finishes.jobs), (5, 5));
    assert!(report.claims.durations.total() >= 1);
    // What it collected is written at shutdown at the latest.
    engine.shutdown().await;
    assert!(watch.report().is_stopping);
    let measured = recent(&pool, Some(lane)).await.unwrap().remove(&lane).unwrap();
    assert_eq!(measured.latency.total(), 5);
    let wait = measured.wait.percentiles().unwrap();
    assert!(wait.count == 5 && wait.p50_ms > 50_000, "they waited for a minute: {wait:?}");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_day_of_an_app_is_read_from_its_own_sums(pool: PgPool) {
    let (world, foreign) = (World::new(&pool).await, World::new(&pool).await);
    let other = world.another_lane().await;
    let term = lead(&pool).await;
    let day = async || read(&pool, Scope::App(world.app), None, Window::Day).await;
    append_spans(&pool, world.lane, &[10, 20], &[3]).await;
    append_spans(&pool, other, &[40_000], &[]).await;
    append_spans(&pool, foreign.lane, &[1], &[1]).await;
    let unfolded = day().await;
    fold(&pool, term).await.unwrap();
    append_spans(&pool, other, &[30], &[]).await;
    fold(&pool, term).await.unwrap();
    let rows = "select count(*) from headgate.throughput where step_seconds = 900 and latency <> '{}'";
    // Two apps and the deployment, in the one or two buckets of this test.
    let sums = world.number(rows).await;
    assert!((3..=6).contains(&sums), "{sums}");
    // One delta that is not folded yet; and the rows of single integrations are deleted.
    append_spans(&pool, world.lane, &[50], &[]).await;
    world.run("delete from headgate.throughput where step_seconds <> 900").await;
    let read = day().await;
    assert_eq!(unfolded.latency.map(|latency| latency.count), Some(3));
    assert_eq!(read.latency.map(|latency| (latency.count, latency.p99_ms > 30_000)), Some((5, true)));
    assert_eq!(read.wait.map(|wait| wait.count), Some(1));
    assert_eq!(read.buckets.iter().filter_map(|b| b.latency).map(|latency| latency.count).sum::<i64>(), 5);
    world.run("update headgate.throughput set bucket_at = bucket_at - interval '26 hours'").await;
    delete_expired(&pool, term).await.unwrap();
    let apps = "select count(*) from headgate.throughput where step_seconds = 900 and integration_id <> '00000000-0000-0000-0000-000000000000'";
    assert_eq!(world.number(apps).await, 0, "kept as long as the chart is");
    assert!(world.number(rows).await > 0, "kept so that yesterday can be compared with the day before");
    world.run("update headgate.throughput set bucket_at = bucket_at - interval '48 hours'").await;
    delete_expired(&pool, term).await.unwrap();
    assert_eq!(world.number(rows).await, 0);
}
