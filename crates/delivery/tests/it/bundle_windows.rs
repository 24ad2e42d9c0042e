//! A shorter window while other transactions use the longer one.

use std::sync::Arc;

use serde_json::json;
use sqlx::PgPool;
use tokio::sync::Notify;

use crate::bundles::{bundle, set};
use crate::support::{Receiver, Reply, World};

const IS_WAITED_FOR: &str = "select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')";
const LATE: &str = "select count(*) from headgate.jobs j left join headgate.waiting w on w.job_id = j.id
    where greatest(j.run_at, w.due_at, (j.successor ->> 'run_at')::timestamptz) > clock_timestamp() + interval '2 seconds'";

async fn shorten(world: &World, id: model::id::IntegrationId) {
    world.patch(id, json!({"bundle_window_seconds": 1})).await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_change_accepted_under_the_longer_window_does_not_outlast_it(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let id = bundle(&world, &receiver, json!({})).await.integration.id;
    set(&world, "1", json!(1)).await;
    // A transaction that accepts events has read the window.
    let mut accepting = world.pool.begin().await.unwrap();
    sqlx::query("select from headgate.integrations where id = $1 for key share")
        .bind(id.0)
        .execute(&mut *accepting)
        .await
        .unwrap();
    let shortened = shorten(&world, id);
    let accepted = async {
        world.until(IS_WAITED_FOR).await;
        accepting.commit().await.unwrap();
    };
    tokio::join!(shortened, accepted);
    world.delivery.apply_shorter_window(id).await;
    assert_eq!(world.number(LATE).await, 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_locked_elsewhere_is_rescheduled_once_it_is_unlocked(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let id = bundle(&world, &receiver, json!({})).await.integration.id;
    for record in ["1", "2"] {
        set(&world, record, json!(1)).await;
    }
    let mut other = world.pool.begin().await.unwrap();
    sqlx::query("select from headgate.jobs where record_id = '2' for update")
        .execute(&mut *other)
        .await
        .unwrap();
    shorten(&world, id).await;
    let release = async {
        world.until("select run_at < clock_timestamp() + interval '2 seconds' from headgate.jobs where record_id = '1'").await;
        other.rollback().await.unwrap();
    };
    tokio::join!(world.delivery.apply_shorter_window(id), release);
    assert_eq!(world.number(LATE).await, 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_change_behind_a_running_job_is_rescheduled_too(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let id = bundle(&world, &receiver, json!({})).await.integration.id;
    set(&world, "1", json!(1)).await;
    let answer = Arc::new(Notify::new());
    receiver.replies([Reply::When(Arc::clone(&answer))]);
    world.let_time_pass().await;
    let running = world.run();
    receiver.next().await;
    set(&world, "1", json!(2)).await;
    assert_eq!(world.number(LATE).await, 1);
    shorten(&world, id).await;
    world.delivery.apply_shorter_window(id).await;
    assert_eq!(world.number(LATE).await, 0);
    answer.notify_one();
    receiver.next().await;
    running.until(2).await;
    running.stop().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn rescheduling_does_not_wait_for_a_cancel(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let id = bundle(&world, &receiver, json!({})).await.integration.id;
    set(&world, "1", json!(1)).await;
    // As a cancel begins; its next step is the job's row.
    let mut cancelling = world.pool.begin().await.unwrap();
    sqlx::query("delete from headgate.waiting").execute(&mut *cancelling).await.unwrap();
    let now = chrono::Utc::now();
    let pass = queue::store::jobs::reschedule_earlier(&world.pool, id, now);
    let passed = tokio::time::timeout(std::time::Duration::from_secs(10), pass).await;
    passed.expect("it waits for the cancel").unwrap();
    sqlx::query("select from headgate.jobs for update nowait").execute(&mut *cancelling).await.unwrap();
    cancelling.rollback().await.unwrap();
    assert!(queue::store::jobs::is_any_scheduled_later(&world.pool, id, now).await.unwrap());
    queue::store::jobs::reschedule_earlier(&world.pool, id, now).await.unwrap();
    assert_eq!(world.number(LATE).await, 0);
}
