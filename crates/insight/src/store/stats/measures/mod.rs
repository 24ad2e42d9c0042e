//! Measures for operators, which browsers do not get: sums since the beginning, the state of the database and of the
//! maintenance. The sampler takes them every few seconds and stores them with its snapshot, so that a scrape costs the database nothing.
//! Nothing here counts jobs: they come from counters, Postgres' own statistics, and the catalogue.

mod services;
mod take;
mod warnings;

pub use services::{CarriedOver, ServiceState};
pub use take::{LastSeen, measures};

use model::histogram::Histogram;
use queue::store::counts::recounts::LastRecount;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// All measures of a moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Measures {
    /// Sums since the beginning.
    pub sums: Sums,
    /// The leader's term: it rises by one with each take-over.
    pub term: i64,
    /// The leader's services.
    pub services: Vec<ServiceState>,
    /// The queue's own tables.
    pub tables: Vec<HotTable>,
    /// The oldest transaction that keeps dead rows from being removed.
    pub oldest_transaction: Option<OldTransaction>,
    /// The age of the oldest snapshot in transactions, replication slots and prepared transactions included.
    pub horizon_transactions: i64,
    /// Size of the database.
    pub database_bytes: i64,
    /// Days after today whose partitions exist.
    pub partition_days_ahead: i32,
    /// The last recount.
    pub recount: LastRecount,
    /// Repairs of stray rows since the beginning, by table.
    pub tidied: BTreeMap<String, i64>,
}

/// Sums since the beginning, over all processes and restarts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sums {
    /// Jobs that completed by a request, or by a program's handler.
    pub completed: i64,
    /// Jobs that completed without a request.
    pub unchanged: i64,
    /// Failed attempts that were retried.
    pub retried: i64,
    /// Jobs that became dead letters.
    pub dead: i64,
    /// Cancelled jobs.
    pub cancelled: i64,
    /// Releases, which count no attempt: for rate limits or shutdowns.
    pub limited: i64,
    /// Attempts whose worker vanished and whose job went back. (A third one in a row is `dead`, that of a cancelled job `cancelled`.)
    pub lost: i64,
    /// How long attempts took.
    pub latency: Histogram,
    /// Their total in microseconds.
    pub latency_us: i64,
    /// How long jobs waited before their first attempt.
    pub wait: Histogram,
    /// Their total in microseconds.
    pub wait_us: i64,
}

/// One of the queue's tables, from Postgres' statistics.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HotTable {
    /// Its name in the schema `headgate`.
    pub name: String,
    /// Live rows.
    pub live_rows: i64,
    /// Dead row versions.
    pub dead_rows: i64,
    /// Its size with indexes.
    pub bytes: i64,
    /// Since the last vacuum, ours or autovacuum's; none before the first.
    pub seconds_since_vacuum: Option<f64>,
    /// Whether our database user may vacuum it.
    pub is_ours: bool,
}

/// An open transaction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OldTransaction {
    /// How long it has been open.
    pub age_seconds: f64,
    /// The application's name.
    pub application: String,
    /// The server process; none for a prepared transaction.
    pub pid: Option<i32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_of_another_version_are_read_as_far_as_they_go() {
        let read: Measures = serde_json::from_str(r#"{"term": 3, "of_tomorrow": [1]}"#).expect("readable");
        assert_eq!(read, Measures { term: 3, ..Measures::default() });
    }
}
