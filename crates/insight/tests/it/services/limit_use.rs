//! The use of a rate limit is exact to the slot, whoever copies it and however often.

use super::delete_expired;
use super::world::{World, lead, take_over};
use insight::store::rate_limits::{SharedLimit, collect, history};
use insight::store::stats::latency::fold;
use model::id::IntegrationId;
use model::limit_use::{LimitUse, LimitWindow};
use model::rate_limit::RateLimit;
use queue::store::counts::latency::{Spans, append};
use queue::store::lanes;
use sqlx::PgPool;
use std::collections::{BTreeMap, HashMap};

const LIMIT: RateLimit = RateLimit { requests: 10, per_seconds: 1 };

async fn limited(pool: &PgPool, key: &str) {
    lanes::set_limits(&mut pool.acquire().await.unwrap(), &[key.to_owned()], &[LIMIT]).await.unwrap();
}

/// Reserves so many slots, however far ahead they lie; in microseconds.
async fn reserve(pool: &PgPool, key: &str, wanted: i32) -> Vec<i64> {
    sqlx::query_scalar("select slots_us from headgate.reserve_slots(array[$1], $2, 3600000000)")
        .bind(key)
        .bind(wanted)
        .fetch_one(pool)
        .await
        .unwrap()
}

async fn read(pool: &PgPool, key: &str, lane: IntegrationId, window: LimitWindow) -> LimitUse {
    let asked = SharedLimit {
        key: key.to_owned(),
        integrations: vec![lane],
        requests: LIMIT.requests,
        per_seconds: LIMIT.per_seconds,
    };
    history(pool, &[asked], window).await.unwrap().remove(0)
}

fn given(used: &LimitUse) -> i64 {
    used.steps.iter().map(|step| step.given).sum()
}

async fn kept(pool: &PgPool, step_seconds: i32) -> BTreeMap<i64, i64> {
    sqlx::query_as("select extract(epoch from bucket_at)::bigint / $1, given from headgate.rate_limit_use where step_seconds = $1")
        .bind(step_seconds)
        .fetch_all(pool)
        .await
        .unwrap()
        .into_iter()
        .collect()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn every_slot_is_counted_in_the_minute_it_lies_in(pool: PgPool) {
    let term = lead(&pool).await;
    limited(&pool, "erp").await;
    let (mut minutes, mut quarters) = (BTreeMap::new(), BTreeMap::new());
    // A minute has 566 slots, more than a call wants, so each call ends in the minute in which it began or in the next. All of them cover more
    // than twenty minutes.
    for wanted in [500, 1, 66, 400, 0, 133].into_iter().cycle().take(66) {
        for slot in reserve(&pool, "erp", wanted).await {
            *minutes.entry(slot / 60_000_000).or_insert(0) += 1;
            *quarters.entry(slot / 900_000_000).or_insert(0) += 1;
        }
        // Copied once or twice: the copy is of the count, not of an increment.
        for _ in 0..=wanted % 2 {
            collect(&pool, term).await.unwrap();
        }
    }
    assert!(minutes.len() > 20, "{}", minutes.len());
    assert_eq!(kept(&pool, 60).await, minutes);
    assert_eq!(kept(&pool, 900).await, quarters);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_history_has_every_slot_before_and_after_it_is_copied(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    limited(&pool, "erp").await;
    limited(&pool, "another").await;
    reserve(&pool, "another", 9).await;
    // In the past, so that no slot is in a minute that has not begun.
    world.run("update headgate.rate_limits set minute = extract(epoch from clock_timestamp())::bigint / 60 - 20, minute_given = 566, minute_before = extract(epoch from clock_timestamp())::bigint / 60 - 21, minute_before_given = 283 where key = 'erp'").await;
    for _ in 0..2 {
        for &window in LimitWindow::ALL {
            let used = read(&pool, "erp", world.lane, window).await;
            assert_eq!(used.steps.len(), usize::try_from(window.steps()).unwrap());
            assert_eq!(given(&used), 849, "{window:?}");
        }
        let hour = read(&pool, "erp", world.lane, LimitWindow::Hour).await;
        let shares: Vec<_> =
            hour.steps.iter().map(|step| step.share()).filter(|share| *share > 0.0).collect();
        // Within a hundredth of the share of the 600 slots that the limit allows.
        assert_eq!(shares.len(), 2);
        assert!(
            (shares[0] - 283.0 / 600.0).abs() < 0.01 && (shares[1] - 566.0 / 600.0).abs() < 0.01,
            "{shares:?}"
        );
        collect(&pool, term).await.unwrap();
    }
    world.run("update headgate.rate_limits set minute = minute + 5, minute_given = 100, minute_before = minute, minute_before_given = minute_given where key = 'erp'").await;
    for &window in LimitWindow::ALL {
        assert_eq!(given(&read(&pool, "erp", world.lane, window).await), 949, "{window:?}");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_429_below_our_limit_and_edits_of_the_limit_are_shown(pool: PgPool) {
    let world = World::new(&pool).await;
    let other = world.another_lane().await;
    let term = lead(&pool).await;
    limited(&pool, "erp").await;
    reserve(&pool, "erp", 3).await;
    let mut spans = Spans::default();
    [200, 429, 429, 0].into_iter().for_each(|status| spans.was_answered(status));
    let mut foreign = Spans::default();
    foreign.was_answered(429);
    append(&pool, &HashMap::from([(world.lane, spans), (other, foreign)])).await.unwrap();
    for (action, changed, lane) in [
        ("integration.update", "rate_limit", world.lane),
        ("integration.update", "max_concurrency", world.lane),
        ("integration.pause", "state", world.lane),
        ("integration.update", "rate_limit", other),
    ] {
        sqlx::query(
            "insert into headgate.audit_log (id, actor_kind, actor_id, actor_name, role, action, object_kind, object_id, after)
             values (gen_random_uuid(), 'user', '1', 'o', 'operator', $1, 'integration', $2, jsonb_build_object($3::text, 1))",
        )
        .bind(action)
        .bind(lane.to_string())
        .bind(changed)
        .execute(&pool)
        .await
        .unwrap();
    }
    for _ in 0..2 {
        for &window in LimitWindow::ALL {
            let used = read(&pool, "erp", world.lane, window).await;
            let below_limit: Vec<_> =
                used.steps.iter().filter(|step| step.was_refused_below_limit()).collect();
            assert_eq!(below_limit.iter().map(|step| step.refused).collect::<Vec<_>>(), [2], "{window:?}");
            assert_eq!(used.edited_at.len(), 1, "only this integration's, and only of the limit");
        }
        fold(&pool, term).await.unwrap();
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_former_leader_copies_nothing_and_day_old_rows_are_deleted(pool: PgPool) {
    let world = World::new(&pool).await;
    let old = lead(&pool).await;
    let new = take_over(&pool).await;
    limited(&pool, "erp").await;
    reserve(&pool, "erp", 3).await;
    assert_eq!(collect(&pool, old).await.unwrap(), 0);
    assert!(collect(&pool, new).await.unwrap() > 0);
    assert!(!kept(&pool, 60).await.is_empty());
    world.run("update headgate.rate_limit_use set bucket_at = bucket_at - interval '26 hours'").await;
    delete_expired(&pool, new).await.unwrap();
    assert!(kept(&pool, 60).await.is_empty() && kept(&pool, 900).await.is_empty());
}
