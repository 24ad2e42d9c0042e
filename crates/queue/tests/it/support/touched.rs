//! What statements read, as Postgres itself counts it: `auto_explain` sends the executed plan of every statement of a session, including those
//! of functions and triggers.

use serde_json::Value;
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use std::fmt;
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Touched {
    /// Rows that scans of tables and indexes returned, and those they read and discarded.
    pub(crate) rows: u64,
    /// Rows of these that sequential scans read.
    pub(crate) in_sequence: u64,
    /// Pages, counted as often as they were read.
    pub(crate) pages: u64,
    /// Rows that any plan node returned or discarded, including rows that the statement made itself: a nested loop over pairs shows here.
    pub(crate) handled: u64,
}

/// Collects the plans of a session until it is dropped.
pub(crate) struct Plans {
    collected: Arc<Mutex<Vec<String>>>,
    _guard: DefaultGuard,
}

/// A pool of one session whose plans are collected. It caches plans, as a worker's session does. The plans of a claimer that connects with the
/// same options are collected too.
pub(crate) fn session(options: PgConnectOptions) -> (PgPool, Plans) {
    let options = options.options([
        ("session_preload_libraries", "auto_explain"),
        ("auto_explain.log_min_duration", "0"),
        ("auto_explain.log_analyze", "on"),
        ("auto_explain.log_buffers", "on"),
        ("auto_explain.log_timing", "off"),
        ("auto_explain.log_format", "json"),
        ("auto_explain.log_nested_statements", "on"),
        ("client_min_messages", "log"),
    ]);
    let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with(options);
    let collected = Arc::new(Mutex::new(Vec::new()));
    let subscriber = tracing_subscriber::registry().with(Notices(Arc::clone(&collected)));
    (pool, Plans { collected, _guard: tracing::subscriber::set_default(subscriber) })
}

impl Plans {
    /// What the statements read since the last call.
    pub(crate) fn touched(&self) -> Touched {
        let mut touched = Touched::default();
        for text in std::mem::take(&mut *self.collected.lock().unwrap()) {
            let Some((_, plan)) = text.split_once("plan:\n") else { continue };
            let plan: Value = serde_json::from_str(plan).unwrap();
            // Nested statements send plans of their own, in which their rows are counted. Their pages are in the outer plan as well.
            touched.pages += pages(&plan["Plan"]);
            add(&plan["Plan"], &mut touched);
        }
        touched
    }
}

/// Postgres counts the pages of the nodes below with each node, except that the total lacks what is written after the last row was returned.
fn pages(node: &Value) -> u64 {
    let own = number(node, "Shared Hit Blocks") + number(node, "Shared Read Blocks");
    own.max(below(node).map(pages).sum())
}

fn below(node: &Value) -> impl Iterator<Item = &Value> {
    node["Plans"].as_array().into_iter().flatten()
}

fn add(node: &Value, touched: &mut Touched) {
    let of_any = ["Actual Rows", "Rows Removed by Filter", "Rows Removed by Join Filter"];
    touched.handled +=
        of_any.iter().map(|name| number(node, name)).sum::<u64>() * number(node, "Actual Loops");
    // Scans of rows that the statement made itself have no relation.
    if node.get("Relation Name").is_some() || node.get("Index Name").is_some() {
        let of_one = ["Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck"];
        let rows = of_one.iter().map(|name| number(node, name)).sum::<u64>() * number(node, "Actual Loops");
        // Writes are not scans: their rows come from a node below.
        if node["Node Type"] != "ModifyTable" {
            touched.rows += rows;
        }
        if node["Node Type"] == "Seq Scan" {
            touched.in_sequence += rows;
        }
    }
    for node in below(node) {
        add(node, touched);
    }
}

fn number(node: &Value, name: &str) -> u64 {
    node.get(name).and_then(Value::as_f64).unwrap_or(0.0).ceil() as u64
}

struct Notices(Arc<Mutex<Vec<String>>>);

impl<S: Subscriber> Layer<S> for Notices {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "sqlx::postgres::notice" {
            event.record(&mut Message(&self.0));
        }
    }
}

struct Message<'a>(&'a Mutex<Vec<String>>);

impl Visit for Message<'_> {
    fn record_str(&mut self, _: &Field, value: &str) {
        self.0.lock().unwrap().push(value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0.lock().unwrap().push(format!("{value:?}"));
        }
    }
}
