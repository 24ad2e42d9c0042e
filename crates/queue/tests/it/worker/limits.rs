//! Rate limits shared by processes, and integrations that are quiet after a 429.

use crate::support::{Script, World, config, failed, ok, start, until, until_recorded};
use model::job::JobStatus;
use model::rate_limit::RateLimit;
use model::rules::verdict::{ErrorKind, Verdict};
use queue::store::lanes;
use queue::worker::{LeasedJob, Outcome, Slot};
use sqlx::PgPool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Sends at its slot and records when.
fn sender(sent: &Arc<Mutex<Vec<Instant>>>) -> Arc<Script> {
    let sent = Arc::clone(sent);
    Script::new(move |job: &LeasedJob| {
        let sent = Arc::clone(&sent);
        Box::pin(async move {
            match job.slot().await {
                Slot::Go => {
                    sent.lock().unwrap().push(Instant::now());
                    ok()
                }
                Slot::Later(until) => Outcome::Released { until },
            }
        })
    })
}

/// The slots that three concurrent callers get under these limits, in microseconds, sorted; `wanted` are the slots per call.
async fn reserved_by_three(pool: &PgPool, keys: &[String], wanted: &[i32], ahead: Duration) -> Vec<i64> {
    let caller = async || {
        let mut slots: Vec<i64> = Vec::new();
        for wanted in wanted {
            let given: Vec<i64> =
                sqlx::query_scalar("select slots_us from headgate.reserve_slots($1, $2, $3)")
                    .bind(keys)
                    .bind(wanted)
                    .bind(i64::try_from(ahead.as_micros()).unwrap())
                    .fetch_one(pool)
                    .await
                    .unwrap();
            slots.extend(given);
        }
        slots
    };
    let (one, two, three) = tokio::join!(caller(), caller(), caller());
    let mut slots = [one, two, three].concat();
    slots.sort_unstable();
    slots
}

/// No window has more slots than the limit allows.
fn must_keep(limit: RateLimit, slots: &[i64]) {
    let window_us = i64::from(limit.per_seconds) * 1_000_000;
    let max = usize::try_from(limit.requests).unwrap();
    for window in slots.windows(max + 1) {
        assert!(window[max] - window[0] >= window_us, "{limit:?}: more than the limit in a window");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn slots_of_many_callers_keep_to_the_limit_in_every_window_and_use_it(pool: PgPool) {
    let world = World::new(&pool).await;
    for (requests, per_seconds) in [(10, 1), (2, 1), (7, 3), (100, 1)] {
        let limit = RateLimit { requests, per_seconds };
        let key = [world.lane_with(50, Some(limit)).await.to_string()];
        // Far enough ahead to see many windows without waiting for them.
        let slots = reserved_by_three(&pool, &key, &[1, 7, 3, 20, 1, 9], Duration::from_secs(600)).await;
        assert_eq!(slots.len(), 123);
        must_keep(limit, &slots);
        let took = (slots[122] - slots[0]) as f64 / (f64::from(per_seconds) * 1e6);
        let used = 122.0 / took / f64::from(requests);
        assert!((0.9..=1.0).contains(&used), "{limit:?}: {used} used");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn slots_of_many_callers_keep_to_each_of_several_limits_in_every_window(pool: PgPool) {
    let limits = [
        RateLimit { requests: 2, per_seconds: 1 },
        RateLimit { requests: 30, per_seconds: 60 },
        RateLimit { requests: 60, per_seconds: 86_400 },
    ];
    let keys = ["per second", "per minute", "per day"].map(str::to_owned);
    lanes::set_limits(&mut pool.acquire().await.unwrap(), &keys, &limits).await.unwrap();
    let two_days = Duration::from_secs(172_800);
    let slots = reserved_by_three(&pool, &keys, &[1, 4, 3, 9, 2, 5], two_days).await;
    assert_eq!(slots.len(), 72);
    for limit in limits {
        must_keep(limit, &slots);
    }
    // The narrowest limit is used in full all the same: 60 a day, in steps of a 55th of it.
    let took_days = (slots[71] - slots[0]) as f64 / 86_400e6;
    let used = 71.0 / took_days / 60.0;
    assert!((0.9..=1.2).contains(&used), "{used} of the daily limit used in {took_days} days");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn two_engines_keep_to_a_limit_in_every_sliding_window_and_use_it(pool: PgPool) {
    let world = World::new(&pool).await;
    let limit = RateLimit { requests: 10, per_seconds: 1 };
    let lane = world.lane_with(50, Some(limit)).await;
    world.accept_plain(lane, 40).await;
    let sent = Arc::default();
    let engines = [start(&pool, config(), sender(&sent)), start(&pool, config(), sender(&sent))];
    until(&pool, "select count(*) = 40 from headgate.finished_jobs").await;
    for engine in engines {
        engine.shutdown().await;
    }
    let mut times = sent.lock().unwrap().clone();
    times.sort();
    assert_eq!(times.len(), 40);
    for (index, window) in times.windows(11).enumerate() {
        let span = window[10] - window[0];
        assert!(span >= Duration::from_secs(1), "requests {index} to {} within {span:?}", index + 10);
    }
    // A reserved slot that comes too late on a busy machine is lost, which must be rare.
    let took = times[39] - times[0];
    let used = 39.0 / took.as_secs_f64() / 10.0;
    assert!(used >= 0.8, "{used} of the limit used");
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_without_a_slot_is_released_uncounted(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane_with(50, Some(RateLimit { requests: 1, per_seconds: 3600 })).await;
    let ids = world.accept_plain(lane, 2).await;
    let sent = Arc::default();
    let engine = start(&pool, config(), sender(&sent));
    // The other one is not claimed, or released until its slot in an hour.
    until(
        &pool,
        "select (select count(*) from headgate.ready) + (select count(*) from headgate.waiting) = 1
            and (select count(*) from headgate.finished_jobs) = 1",
    )
    .await;
    engine.shutdown().await;
    let job = world.get(ids[1]).await.job;
    assert_eq!((job.status, job.attempt), (JobStatus::Pending, 0));
    assert_eq!(sent.lock().unwrap().len(), 1);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_that_exceeds_a_lowered_limit_is_released_and_occupies_no_worker(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane_with(50, Some(RateLimit { requests: 10_000, per_seconds: 600 })).await;
    world.accept_plain(lane, 5).await;
    let sent = Arc::default();
    let engine = start(&pool, config(), sender(&sent));
    until(&pool, "select count(*) = 5 from headgate.finished_jobs").await;
    // Three in ten minutes: five have been sent already.
    let mut connection = pool.acquire().await.unwrap();
    let lowered = RateLimit { requests: 3, per_seconds: 600 };
    lanes::set_limits(&mut connection, &[lane.to_string()], &[lowered]).await.unwrap();
    world.accept_plain(lane, 1).await;
    engine.wake();
    // Its slot was reserved, and the job was released.
    until(
        &pool,
        "select (select tat_us > extract(epoch from clock_timestamp() + interval '1 minute') * 1000000 from headgate.rate_limits)
            and (select status = 0 and attempt = 0 from headgate.jobs)",
    )
    .await;
    engine.shutdown().await;
    assert_eq!(sent.lock().unwrap().len(), 5);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_429_makes_the_whole_integration_quiet(pool: PgPool) {
    let world = World::new(&pool).await;
    let (busy, other) = (world.lane_with(1, None).await, world.lane().await);
    world.accept_plain(busy, 3).await;
    let quiet = Duration::from_secs(1);
    let ran = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&ran);
    let handler = Script::new(move |job: &LeasedJob| {
        let mut ran = seen.lock().unwrap();
        ran.push((job.integration_id, Instant::now()));
        let is_first = ran.len() == 1;
        Box::pin(async move {
            if !is_first {
                return ok();
            }
            failed(Verdict::Retry {
                kind: ErrorKind::Retryable,
                at_least: Some(quiet),
                quiets_integration: true,
            })
        })
    });
    let engine = start(&pool, config(), handler);
    until_recorded(&engine, 1).await;
    world.accept_plain(other, 1).await;
    engine.wake();
    until_recorded(&engine, 5).await;
    engine.shutdown().await;
    let ran = ran.lock().unwrap().clone();
    let of = |lane| ran.iter().filter(move |(of, _)| *of == lane).map(|(_, at)| *at).collect::<Vec<_>>();
    let (times, elsewhere) = (of(busy), of(other));
    assert!(times[1] - times[0] >= quiet, "{:?}", times[1] - times[0]);
    assert!(elsewhere[0] < times[1], "other integrations are not delayed");
    world.must_be_sound().await;
}
