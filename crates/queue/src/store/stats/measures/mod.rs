//! What an operator at three in the morning needs and browsers do not: sums since the beginning, the state of the database and of the
//! maintenance. Taken by the sampler every few seconds and kept in its snapshot's row, so that a scrape costs the database nothing.
//! Nothing here counts jobs: counters, the statistics Postgres keeps anyway, and the catalogue.

mod services;
mod take;
mod warnings;

pub use services::{CarriedOver, ServiceState};
pub use take::{LastSeen, measures};

use super::recounts::LastRecount;
use model::histogram::Histogram;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the sampler measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Measures {
    /// What was done since the beginning.
    pub sums: Sums,
    /// The leader's term: it rises by one with each take-over.
    pub term: i64,
    /// The leader's services.
    pub services: Vec<ServiceState>,
    /// The queue's own tables.
    pub tables: Vec<HotTable>,
    /// The oldest transaction that keeps dead rows from being removed.
    pub oldest_transaction: Option<OldTransaction>,
    /// How many transactions the oldest snapshot lies back, replication slots and prepared transactions included.
    pub horizon_transactions: i64,
    /// Size of the database.
    pub database_bytes: i64,
    /// Days after today whose partitions are made.
    pub partition_days_ahead: i32,
    /// The proof of the counters.
    pub recount: LastRecount,
    /// Rows taken away because they belonged to nothing, ever, by table.
    pub tidied: BTreeMap<String, i64>,
}

/// Sums since the beginning, over all processes and restarts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sums {
    /// Jobs that completed by sending, or by a handler of their own.
    pub completed: i64,
    /// Jobs that completed without a request.
    pub unchanged: i64,
    /// Failed attempts that were tried again.
    pub retried: i64,
    /// Jobs given up.
    pub dead: i64,
    /// Jobs called off.
    pub cancelled: i64,
    /// Attempts given back uncounted: limits, shutdowns.
    pub limited: i64,
    /// How long attempts took.
    pub latency: Histogram,
    /// All of them together, in microseconds.
    pub latency_us: i64,
    /// How long jobs waited before their first attempt.
    pub wait: Histogram,
    /// All of them together, in microseconds.
    pub wait_us: i64,
}

/// One of the queue's tables, as Postgres' statistics have it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HotTable {
    /// Its name in the schema `headgate`.
    pub name: String,
    /// Rows.
    pub live_rows: i64,
    /// Versions of rows that nobody needs any more.
    pub dead_rows: i64,
    /// With its indexes.
    pub bytes: i64,
    /// Since the last vacuum, ours or Postgres' own; none before the first.
    pub seconds_since_vacuum: Option<f64>,
    /// Whether our database user may vacuum it.
    pub is_ours: bool,
}

/// A transaction that is open.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OldTransaction {
    /// For how long.
    pub age_seconds: f64,
    /// Whose: the application's name.
    pub application: String,
    /// The server process; none of a prepared transaction.
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
