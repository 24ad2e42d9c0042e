//! What answers of external systems do to the circuit breaker of their integration.

use model::breaker::{BreakerAction, BreakerOrder, BreakerState};
use model::deletion::DeleteOptions;
use model::id::IntegrationId;
use model::sync_status::SyncState;
use serde_json::json;
use sqlx::PgPool;

use crate::bundles::{bundle, set};
use crate::support::{Receiver, Reply, World};

async fn breaker(world: &World, id: IntegrationId) -> model::breaker::Breaker {
    world.delivery.integration(world.scope, id).await.unwrap().breaker
}

async fn steer(world: &World, id: IntegrationId, action: BreakerAction, hours: Option<i64>) {
    let until = hours.map(|hours| chrono::Utc::now() + chrono::TimeDelta::hours(hours));
    let mut transaction = world.pool.begin().await.unwrap();
    let order = BreakerOrder { action, until };
    world.delivery.steer_breaker(&mut transaction, world.scope, id, order, "Ada").await.unwrap();
    transaction.commit().await.unwrap();
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_answer_counts_for_what_it_says_about_the_system(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let fields = json!({"endpoint_url": receiver.url, "max_attempts": 1, "max_concurrency": 1});
    let id = world.integration(fields).await;
    let mut ends = 0;
    let running = world.run();
    // The 429 comes last: it makes the integration quiet, and the next job is released.
    for (status, row) in [
        (500, 1),
        (503, 2),
        (408, 3),
        (425, 4),
        (400, 0),
        (502, 1),
        (200, 0),
        (504, 1),
        (301, 0),
        (500, 1),
        (429, 1),
    ] {
        receiver.answers(Reply::Status(status));
        ends += 1;
        world.accept([json!({"record_id": format!("r-{ends}"), "attributes": {"a": 1}})]).await;
        running.until(ends).await;
        assert_eq!(breaker(&world, id).await.failures_in_a_row, row, "after {status}");
    }
    running.stop().await;
    sqlx::query("update headgate.lanes set quiet_until = null").execute(&world.pool).await.unwrap();
    // Nothing listens there.
    let dead = json!({"endpoint_url": "http://127.0.0.1:9/"});
    world.patch(id, dead).await;
    world.accept([json!({"record_id": "gone", "attributes": {"a": 1}})]).await;
    world.run_until(1).await;
    assert_eq!(breaker(&world, id).await.failures_in_a_row, 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_bundles_request_counts_once_however_many_items_it_has(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let id = bundle(&world, &receiver, json!({"max_attempts": 2})).await.integration.id;
    receiver.answers(Reply::Status(500));
    for n in 0..12 {
        set(&world, &n.to_string(), json!(1)).await;
    }
    world.let_time_pass().await;
    // 24 attempts fail: counted one by one they would open it. On a busy machine they may take more than two requests.
    let running = world.run_with(|config| config.breaker_failures = 12);
    running.until(24).await;
    running.stop().await;
    let breaker = breaker(&world, id).await;
    let requests = receiver.rest().await.len();
    assert_eq!(
        (breaker.state, breaker.failures_in_a_row),
        (BreakerState::Closed, i32::try_from(requests).unwrap())
    );
    assert!((2..12).contains(&requests), "{requests}");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_open_circuit_is_shown_as_failing_and_a_new_address_is_probed_at_once(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let id = world
        .integration(json!({"endpoint_url": "http://127.0.0.1:9/", "max_attempts": 9, "max_concurrency": 1}))
        .await;
    for n in 0..6 {
        world.accept([json!({"record_id": format!("r-{n}"), "attributes": {"a": 1}})]).await;
    }
    let running = world.run_with(|config| config.breaker_failures = 4);
    world.until("select exists (select 1 from headgate.breakers where state = 'open')").await;
    let status = world.status(id).await;
    assert_eq!((status.sync_state, status.eta_seconds), (SyncState::Failing, None));
    let open = breaker(&world, id).await;
    let reason = open.reason.unwrap();
    assert!(
        reason.starts_with("4 attempts in a row failed; the last: ") && reason.contains("refused"),
        "{reason}"
    );

    let moved = world.patch(id, json!({"endpoint_url": receiver.url})).await;
    assert_eq!((moved.breaker.state, moved.breaker.failures_in_a_row), (BreakerState::HalfOpen, 0));
    world.delivery.wake();
    world.until("select count(*) = 6 from headgate.finished_jobs").await;
    running.stop().await;
    assert_eq!(receiver.rest().await.len(), 6, "each was sent once");
    assert_eq!(world.status(id).await.sync_state, SyncState::InSync);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn pausing_and_resuming_keep_a_hold_and_probe_waiting_jobs(pool: PgPool) {
    let world = World::new(pool).await;
    let ids = [
        world.integration(json!({"endpoint_url": "http://127.0.0.1:9/"})).await,
        world.integration(json!({"endpoint_url": "http://127.0.0.1:9/"})).await,
    ];
    for id in ids {
        steer(&world, id, BreakerAction::Hold, Some(1)).await;
    }
    // By its row, the first one opened by itself.
    sqlx::query("update headgate.breakers set held_until = null where integration_id = $1")
        .bind(ids[0])
        .execute(&world.pool)
        .await
        .unwrap();
    let mut connection = world.pool.acquire().await.unwrap();
    for (id, after) in [(ids[0], BreakerState::HalfOpen), (ids[1], BreakerState::Open)] {
        let paused = world.delivery.pause_integration(&mut connection, world.scope, id, None).await.unwrap();
        assert_eq!(paused.breaker.state, BreakerState::Open);
        let resumed = world.delivery.resume_integration(&mut connection, world.scope, id).await.unwrap();
        assert_eq!(resumed.breaker.state, after);
        // Other settings leave it alone.
        let edited =
            world.patch(id, json!({"max_concurrency": 9, "endpoint_url": "http://127.0.0.1:9/"})).await;
        assert_eq!(edited.breaker.state, after);
    }
    world
        .delivery
        .delete_integration(&mut connection, world.scope, ids[0], &DeleteOptions::default(), "test")
        .await
        .unwrap();
    assert_eq!(world.number("select count(*) from headgate.breakers").await, 1);
}
