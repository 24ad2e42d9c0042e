//! Jobs that begin together read their material in few statements, and send it as it is when the request leaves.

use std::{cell::Cell, fmt::Debug, sync::Once};

use serde_json::json;
use sqlx::PgPool;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Context, SubscriberExt as _};

use crate::bundles::{bundle, records, set};
use crate::support::{Receiver, World};

thread_local! {
    /// Statements of this thread that read material. Everything in a test runs in the test's own thread.
    static READS: Cell<usize> = const { Cell::new(0) };
}

/// Counts those statements: sqlx emits an event for each.
struct CountReads;

impl CountReads {
    /// For all threads: with a subscriber of one thread only, the first event of another thread would disable the callsite for all.
    fn install() {
        static LISTENING: Once = Once::new();
        LISTENING.call_once(|| {
            let statements = Targets::new().with_target("sqlx::query", LevelFilter::TRACE);
            let subscriber = tracing_subscriber::registry().with(Self.with_filter(statements));
            tracing::subscriber::set_global_default(subscriber).unwrap();
        });
    }
}

impl<S: Subscriber> Layer<S> for CountReads {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        event.record(&mut ReadVisitor);
    }
}

struct ReadVisitor;

impl Visit for ReadVisitor {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "db.statement" && value.contains("as \"settings_version!\"") {
            READS.set(READS.get() + 1);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_bundle_of_a_hundred_is_read_by_a_few_statements(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    bundle(&world, &receiver, json!({})).await;
    for n in 0..100 {
        set(&world, &n.to_string(), json!(1)).await;
    }
    world.let_time_pass().await;
    CountReads::install();
    let running = world.run_with(|config| config.workers = 200);
    running.until(100).await;
    running.stop().await;
    assert_eq!(records(&receiver.next().await).len(), 100);
    // Jobs that come while the first statement runs share the second; on a slow machine there are a few more.
    let reads = READS.get();
    assert!((1..=10).contains(&reads), "{reads} statements");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_change_during_the_wait_for_a_slot_is_sent_with_it(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let limit = json!({"requests": 1000, "per_seconds": 1});
    world.integration(json!({"endpoint_url": receiver.url, "rate_limit": limit})).await;
    world.set(json!({"a": 1})).await;
    // The lock keeps the job from getting a slot.
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
    assert!(receiver.rest().await.is_empty(), "the change that came meanwhile is sent already");
}
