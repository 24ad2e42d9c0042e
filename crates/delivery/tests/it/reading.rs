//! What requests tell is read for all that begin together, and as it is when they leave.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::json;
use sqlx::PgPool;
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    Layer,
    layer::{Context, SubscriberExt as _},
};

use crate::{
    bundles::{bundle, records, set},
    support::{Receiver, World},
};

/// Counts the statements that read what is to be sent. (Each statement is an event of sqlx's.)
struct Readings(Arc<AtomicUsize>);

impl<S: Subscriber> Layer<S> for Readings {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "sqlx::query" {
            event.record(&mut Reading(&self.0));
        }
    }
}

struct Reading<'a>(&'a AtomicUsize);

impl Visit for Reading<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "db.statement" && value.contains("as \"settings_version!\"") {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_bundle_of_a_hundred_is_read_by_one_statement_or_two(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    bundle(&world, &receiver, json!({})).await;
    for n in 0..100 {
        set(&world, &n.to_string(), json!(1)).await;
    }
    world.let_time_pass().await;
    let readings = Arc::new(AtomicUsize::new(0));
    let subscriber = tracing_subscriber::registry().with(Readings(Arc::clone(&readings)));
    let listening = tracing::subscriber::set_default(subscriber);
    let running = world.run_with(|config| config.workers = 200);
    running.until(100).await;
    drop(listening);
    running.stop().await;
    assert_eq!(records(&receiver.next().await).len(), 100);
    // Who asks while the first is under way asks with the second.
    let readings = readings.load(Ordering::Relaxed);
    assert!((1..=2).contains(&readings), "{readings} statements");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn what_changes_while_a_job_waits_for_its_slot_goes_out_with_it(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let limit = json!({"requests": 1000, "per_seconds": 1});
    world.integration(json!({"endpoint_url": receiver.url, "rate_limit": limit})).await;
    world.set(json!({"a": 1})).await;
    // Nobody is given a slot.
    let mut slots = world.pool.begin().await.unwrap();
    sqlx::query("select 1 from headgate.rate_limits for update").execute(&mut *slots).await.unwrap();
    let running = world.run();
    world
        .until(
            "select exists (select from pg_stat_activity
                where datname = current_database() and wait_event_type = 'Lock' and query like '%reserve_slots%')",
        )
        .await;
    world.set(json!({"a": 2})).await;
    world
        .until(
            "select bool_or(started_at < clock_timestamp() - interval '200 milliseconds') from headgate.jobs",
        )
        .await;
    slots.commit().await.unwrap();
    running.until(2).await;
    running.stop().await;
    assert_eq!(receiver.next().await.json()["changes"]["set"], json!({"a": 2}));
    assert!(receiver.rest().await.is_empty(), "the change that came meanwhile is told already");
}
