//! The snapshot has the right numbers without counting rows.

use super::world::{World, lead};
use insight::store::job_lists;
use insight::store::stats::{self, live_snapshots, rollup};
use model::actor::Scope;
use model::filter::JobFilter;
use model::job::JobStatus;
use model::page::PageRequest;
use model::rate_limit::RateLimitUse;
use model::stats::{IntegrationGauge, Totals};
use queue::QueueError;
use queue::store::counts::{self, Drift, fold};
use sqlx::PgPool;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_snapshot_equals_the_rows(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    let other = world.another_lane().await;
    world.pending(world.lane, 4, 90).await;
    world.processing(world.lane, 2).await;
    world.to_be_retried(world.lane, 5, 1).await;
    world.to_be_retried(other, 2, 3).await;
    world.dead_letters(other, 3).await;
    world.finished(world.lane, 6, 1, 30).await;
    world.finished(other, 9, 0, 100).await;

    // Half of the deltas are folded, half are not.
    fold::job_counts(&pool, term).await.unwrap();
    rollup::throughput(&pool, term).await.unwrap();
    world.pending(other, 1, 10).await;
    world.finished(world.lane, 2, 0, 0).await;

    let snapshot = stats::snapshot(&pool).await.unwrap();
    let oldest = snapshot.totals.oldest_pending_age_seconds.unwrap();
    assert!((90..100).contains(&oldest), "{oldest}");
    assert_eq!(
        Totals { oldest_pending_age_seconds: None, ..snapshot.totals },
        Totals {
            backlog: 5,
            processing: 2,
            to_be_retried: 7,
            dead_letters: 3,
            delivered_per_minute: 8,
            failed_per_minute: 1,
            oldest_pending_age_seconds: None,
        }
    );
    assert_eq!(snapshot.retry_pyramid, [5, 0, 2]);
    assert_eq!(snapshot.integrations.len(), 2);
    let gauge = snapshot.integrations.iter().find(|gauge| gauge.integration_id == world.lane).unwrap();
    assert_eq!((gauge.backlog, gauge.processing, gauge.to_be_retried, gauge.dead_letters), (4, 2, 5, 0));
    assert_eq!(gauge.app_name, "Shop");
    assert!(gauge.last_success_at.is_some());
    // Nine ended in the last minute, eleven are left.
    assert_eq!(gauge.eta_seconds, Some(74));
    assert_eq!(counts::drift(&pool).await.unwrap(), []);
}

/// As while a breaker is open: nothing claims those that are due.
#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn each_number_is_that_of_its_list_while_retries_are_due(pool: PgPool) {
    let world = World::new(&pool).await;
    world.pending(world.lane, 4, 90).await;
    world.to_be_retried(world.lane, 5, 1).await;
    world.to_be_retried(world.lane, 2, 3).await;
    world.dead_letters(world.lane, 3).await;
    world
        .run(
            "update headgate.jobs set retry_at = now() - interval '1 minute'
            where id in (select id from headgate.jobs where status = 2 and attempt = 1 limit 4);
            update headgate.failing_jobs f set due_at = j.retry_at from headgate.jobs j where j.id = f.job_id",
        )
        .await;
    let snapshot = stats::snapshot(&pool).await.unwrap();
    let (totals, pyramid) = (snapshot.totals, &snapshot.retry_pyramid);
    assert_eq!((totals.to_be_retried, pyramid.as_slice()), (7, &[5, 0, 2][..]));
    let of = |status| JobFilter { status: Some(status), ..JobFilter::default() };
    let after = |attempt| JobFilter { attempt: Some(attempt), ..of(JobStatus::ToBeRetried) };
    for (filter, n) in [
        (of(JobStatus::Pending), totals.backlog),
        (of(JobStatus::ToBeRetried), totals.to_be_retried),
        (of(JobStatus::Retrying), 4),
        (of(JobStatus::Failed), totals.dead_letters),
        (after(1), pyramid[0]),
        (after(2), pyramid[1]),
        (after(3), pyramid[2]),
    ] {
        let found = job_lists::count(&pool, Scope::AllApps, &filter).await.unwrap().unwrap();
        assert_eq!(found.all.n, n, "{filter:?}");
        let listed = job_lists::list(&pool, Scope::AllApps, &filter, PageRequest::default()).await.unwrap();
        assert_eq!(i64::try_from(listed.items.len()), Ok(n), "{filter:?}");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_wrong_counter_is_found(pool: PgPool) {
    let world = World::new(&pool).await;
    world.pending(world.lane, 2, 0).await;
    sqlx::query("insert into headgate.job_count_deltas values ($1, 0, 0, 1), ($1, 2, 4, 7)")
        .bind(world.lane)
        .execute(&pool)
        .await
        .unwrap();
    let expected =
        |status, attempt, counted, real| Drift { integration_id: world.lane, status, attempt, counted, real };
    assert_eq!(counts::drift(&pool).await.unwrap(), [expected(0, 0, 3, 2), expected(2, 4, 7, 0)]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_tightest_limit_is_shown_with_its_use(pool: PgPool) {
    let world = World::new(&pool).await;
    world
        .run(
            "insert into headgate.rate_limits (key, requests, per_seconds, emission_us, window_started_us, used, used_before)
            select k, r, s, e, (extract(epoch from clock_timestamp()) * 1000000)::bigint - 30000000, 4, 9
            from (values ('a', 100, 60, 600000), ('b', 1, 1, 1000000), ('c', 1000, 60, 60000)) v (k, r, s, e);
            update headgate.lanes set limit_keys = array['a', 'c']",
        )
        .await;
    let integrations = stats::integrations(&pool).await.unwrap();
    assert_eq!(integrations[0].rate_limit, Some(RateLimitUse { limit: 100, used: 4, per_seconds: 60 }));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_sampled_eta_is_read_by_integration_while_it_is_fresh(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world.pending(world.lane, 30, 0).await;
    world.finished(world.lane, 60, 0, 1).await;
    assert_eq!(live_snapshots::eta_seconds(&pool, world.lane).await.unwrap(), None);
    let snapshot = stats::snapshot(&pool).await.unwrap();
    assert!(live_snapshots::write(&pool, term, &snapshot, None).await.unwrap());
    assert_eq!(live_snapshots::eta_seconds(&pool, world.lane).await.unwrap(), Some(Some(30)));
    let gauge = || stats::gauge(&pool, Scope::App(world.app), world.lane);
    assert_eq!(gauge().await.unwrap().eta_seconds, Some(30));
    world.run("update headgate.live_snapshots set body = jsonb_set(body, '{integrations,0,eta_seconds}', 'null')").await;
    assert_eq!(gauge().await.unwrap().eta_seconds, None);
    world.run("update headgate.live_snapshots set at = at - interval '20 seconds'").await;
    assert_eq!(live_snapshots::eta_seconds(&pool, world.lane).await.unwrap(), None);
    assert_eq!(gauge().await.unwrap().eta_seconds, Some(30));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn snapshots_of_an_hour_are_kept_and_thinned_after_a_minute(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world
        .run(
            "insert into headgate.live_snapshots (at, body)
            select date_trunc('second', clock_timestamp()) - make_interval(secs => s), '{}'
            from (select generate_series(1, 110) union all values (3500), (3700)) v (s)",
        )
        .await;
    let snapshot = stats::snapshot(&pool).await.unwrap();
    live_snapshots::write(&pool, term, &snapshot, None).await.unwrap();
    let counted = |sql| world.number(sql);
    assert_eq!(
        counted("select count(*) from headgate.live_snapshots where at < now() - interval '1 hour'").await,
        0
    );
    assert_eq!(
        counted("select count(*) from headgate.live_snapshots where at < now() - interval '30 minutes'")
            .await,
        1
    );
    let thinned = counted(
        "select count(*) from headgate.live_snapshots where at between now() - interval '115 seconds' and now() - interval '65 seconds'",
    );
    assert!((4..=6).contains(&thinned.await));
    assert!(
        counted("select count(*) from headgate.live_snapshots where at > now() - interval '58 seconds'")
            .await
            >= 55
    );
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_integrations_gauges_equal_the_snapshots_and_are_visible_to_its_app_only(pool: PgPool) {
    let (world, foreign) = (World::new(&pool).await, World::new(&pool).await);
    world.pending(world.lane, 3, 20).await;
    world.to_be_retried(world.lane, 2, 2).await;
    world.finished(world.lane, 30, 2, 5).await;
    foreign.pending(foreign.lane, 9, 0).await;
    let snapshot = stats::snapshot(&pool).await.unwrap();
    let sampled = snapshot.integrations.into_iter().find(|gauge| gauge.integration_id == world.lane).unwrap();
    let gauge = stats::gauge(&pool, Scope::App(world.app), world.lane).await.unwrap();
    assert_eq!(
        gauge,
        IntegrationGauge { oldest_pending_age_seconds: gauge.oldest_pending_age_seconds, ..sampled }
    );
    let refused = stats::gauge(&pool, Scope::App(foreign.app), world.lane).await;
    assert!(matches!(refused, Err(QueueError::NotFound)));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_paused_integration_has_no_eta_unless_nothing_is_left(pool: PgPool) {
    let world = World::new(&pool).await;
    let eta = || async { stats::gauge(&pool, Scope::AllApps, world.lane).await.unwrap().eta_seconds };
    world.finished(world.lane, 60, 0, 5).await;
    world.run("update headgate.integrations set state = 'paused'").await;
    assert_eq!(eta().await, Some(0));
    world.pending(world.lane, 3, 0).await;
    assert_eq!(eta().await, None);
    world.run("update headgate.integrations set state = 'active'").await;
    assert_eq!(eta().await, Some(3));
}
