//! What operators do to breakers, what a changed integration does, and the history of changes.

use super::support::{asks, cap, flips, lead, opens_after_five, script, states, steer};
use crate::support::{World, service, start, until};
use chrono::TimeDelta;
use model::actor::Scope;
use model::breaker::BreakerAction::{Close, Hold, Probe};
use model::breaker::BreakerState::{Closed, HalfOpen, Open};
use model::id::{AppId, IntegrationId};
use model::page::PageRequest;
use queue::{QueueError, store::breakers};
use sqlx::PgPool;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_operator_can_hold_probe_and_close_it_and_each_change_is_recorded(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let hour = Some(TimeDelta::hours(1));
    for (action, hold, changes, expected_cap) in [
        (Probe, None, false, None),
        (Close, None, false, None),
        (Hold, hour, true, Some(0)),
        (Hold, Some(TimeDelta::hours(2)), true, Some(0)),
        (Probe, None, true, Some(3)),
        (Probe, None, false, Some(3)),
        (Hold, hour, true, Some(0)),
        (Close, None, true, None),
    ] {
        assert_eq!(steer(&pool, lane, action, hold).await.unwrap(), changes, "{action:?}");
        assert_eq!(cap(&pool, lane).await, expected_cap, "{action:?}");
    }
    assert_eq!(states(&pool, lane).await, [Open, Open, HalfOpen, Open, Closed]);
    assert!(flips(&pool, lane).await.iter().all(|flip| flip.actor.as_deref() == Some("Ada")));
    assert_eq!(world.number("select count(*) from headgate.breakers where is_watched").await, 0);

    let first =
        breakers::flips(&pool, Scope::AllApps, lane, PageRequest { limit: 2, after: None }).await.unwrap();
    let cursor = PageRequest::parse(Some(3), first.next_cursor.as_deref()).unwrap();
    let second = breakers::flips(&pool, Scope::App(world.app_id), lane, cursor).await.unwrap();
    let states: Vec<_> = first.items.iter().chain(&second.items).map(|flip| flip.to_state).collect();
    assert_eq!((states, second.next_cursor), (vec![Closed, Open, HalfOpen, Open, Open], None));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_hold_is_at_most_thirty_days_and_unknown_integrations_are_not_found(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    for (action, hold) in [
        (Hold, None),
        (Hold, Some(TimeDelta::seconds(-5))),
        (Hold, Some(TimeDelta::days(31))),
        (Probe, Some(TimeDelta::hours(1))),
        (Close, Some(TimeDelta::hours(1))),
    ] {
        match steer(&pool, lane, action, hold).await {
            Err(QueueError::Invalid(faults)) => assert_eq!(faults.0[0].pointer, "/until", "{action:?}"),
            other => panic!("{action:?} {hold:?}: {other:?}"),
        }
    }
    assert_eq!(states(&pool, lane).await, []);
    let gone = IntegrationId::generate();
    assert!(matches!(steer(&pool, gone, Probe, None).await, Err(QueueError::NotFound)));
    let foreign = breakers::flips(&pool, Scope::App(AppId::generate()), lane, PageRequest::default()).await;
    assert!(matches!(foreign, Err(QueueError::NotFound)));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_changed_integration_is_probed_at_once_unless_it_is_held(pool: PgPool) {
    let world = World::new(&pool).await;
    let (failing, held) = (world.lane_with(1, None).await, world.lane().await);
    world.accept(&vec![asks(&world, failing, "fails"); 5]).await;
    let engine = start(&pool, opens_after_five(), script());
    until(&pool, "select exists (select 1 from headgate.breakers where state = 'open')").await;
    engine.shutdown().await;
    steer(&pool, held, Hold, Some(TimeDelta::hours(1))).await.unwrap();
    let mut connection = pool.acquire().await.unwrap();
    for lane in [failing, held, IntegrationId::generate()] {
        breakers::reset(&mut connection, lane, "its address was changed").await.unwrap();
    }
    assert_eq!((cap(&pool, failing).await, cap(&pool, held).await), (Some(3), Some(0)));
    let flip = flips(&pool, failing).await.pop().unwrap();
    assert_eq!((flip.to_state, flip.reason.as_str()), (HalfOpen, "its address was changed: 3 probes decide"));
    // Deleted with the integration.
    sqlx::query("delete from headgate.integrations").execute(&pool).await.unwrap();
    assert_eq!(world.number("select count(*) from headgate.breakers").await, 0);
    assert_eq!(world.number("select count(*) from headgate.breaker_flips").await, 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn breaker_history_is_kept_for_thirty_days(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let term = lead(&pool).await;
    for _ in 0..2 {
        steer(&pool, lane, Hold, Some(TimeDelta::hours(1))).await.unwrap();
    }
    let newest = flips(&pool, lane).await[1].id;
    sqlx::query("update headgate.breaker_flips set at = at - interval '29 days 23 hours'")
        .execute(&pool)
        .await
        .unwrap();
    service("retention").run_once(&pool, term).await.unwrap();
    assert_eq!(flips(&pool, lane).await.len(), 2);
    sqlx::query("update headgate.breaker_flips set at = at - interval '2 hours' where id <> $1")
        .bind(newest)
        .execute(&pool)
        .await
        .unwrap();
    service("retention").run_once(&pool, term).await.unwrap();
    assert_eq!(flips(&pool, lane).await.iter().map(|flip| flip.id).collect::<Vec<_>>(), [newest]);
}
