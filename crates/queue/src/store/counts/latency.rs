//! How long attempts and waits take: histograms that processes append. `insight` folds them into statistics.

use crate::error::Result;
use model::{histogram::Histogram, id::IntegrationId};
use sqlx::PgPool;
use std::collections::BTreeMap;
use std::{collections::HashMap, fmt::Write as _, time::Duration};

/// The status that stands for no answer: the connection broke, or the request timed out.
pub const NO_ANSWER: i16 = 0;

/// Counts by status.
pub type Statuses = BTreeMap<i16, i32>;

/// Durations and answers of an integration over some time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spans {
    /// How long attempts took.
    pub latency: Histogram,
    /// How long jobs waited before their first attempt.
    pub wait: Histogram,
    /// Answers by HTTP status.
    pub statuses: Statuses,
    latency_us: i64,
    wait_us: i64,
}

impl Spans {
    /// Adds an attempt.
    pub fn attempt_took(&mut self, length: Duration) {
        self.latency.add(length);
        self.latency_us = self.latency_us.saturating_add(micros(length));
    }

    /// Adds a job's wait.
    pub fn job_waited(&mut self, length: Duration) {
        self.wait.add(length);
        self.wait_us = self.wait_us.saturating_add(micros(length));
    }

    /// Adds an answer.
    pub fn was_answered(&mut self, status: i16) {
        *self.statuses.entry(status).or_default() += 1;
    }

    /// Adds those of another.
    pub fn merge(&mut self, other: &Self) {
        self.latency.merge(&other.latency);
        self.wait.merge(&other.wait);
        for (status, n) in &other.statuses {
            let own = self.statuses.entry(*status).or_default();
            *own = own.saturating_add(*n);
        }
        self.latency_us = self.latency_us.saturating_add(other.latency_us);
        self.wait_us = self.wait_us.saturating_add(other.wait_us);
    }

    pub fn of(latency: Vec<i64>, wait: Vec<i64>) -> Self {
        Self {
            latency: Histogram::from_counts(latency),
            wait: Histogram::from_counts(wait),
            ..Self::default()
        }
    }
}

/// Appends what a process gathered. The commit is asynchronous: no decision depends on it, and a crash of the server may lose it.
pub async fn append(pool: &PgPool, gathered: &HashMap<IntegrationId, Spans>) -> Result<()> {
    let integrations: Vec<IntegrationId> = gathered.keys().copied().collect();
    let (mut latencies, mut waits, mut latency_us, mut wait_us) = (vec![], vec![], vec![], vec![]);
    let (mut statuses, mut status_counts) = (vec![], vec![]);
    for spans in gathered.values() {
        latencies.push(as_array(spans.latency.counts()));
        waits.push(as_array(spans.wait.counts()));
        latency_us.push(spans.latency_us);
        wait_us.push(spans.wait_us);
        statuses.push(as_array(spans.statuses.keys()));
        status_counts.push(as_array(spans.statuses.values()));
    }
    let mut transaction = pool.begin_with("begin; set local synchronous_commit = off").await?;
    // As text, because Postgres has no arrays of arrays of different lengths.
    sqlx::query!(
        r#"
        insert into headgate.latency_deltas (integration_id, latency, wait, latency_us, wait_us, statuses, status_counts)
        select g.integration_id, g.latency::bigint[], g.wait::bigint[], g.latency_us, g.wait_us, g.statuses::smallint[],
            g.status_counts::int[]
        from unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::text[])
            as g (integration_id, latency, wait, latency_us, wait_us, statuses, status_counts)
        "#,
        &integrations as &[IntegrationId],
        &latencies,
        &waits,
        &latency_us,
        &wait_us,
        &statuses,
        &status_counts,
    )
    .execute(&mut *transaction)
    .await?;
    Ok(transaction.commit().await?)
}

/// A Postgres array literal.
fn as_array<N: std::fmt::Display>(numbers: impl IntoIterator<Item = N>) -> String {
    let mut text = String::from("{");
    for (at, n) in numbers.into_iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{}{n}", if at > 0 { "," } else { "" });
    }
    text.push('}');
    text
}

fn micros(length: Duration) -> i64 {
    i64::try_from(length.as_micros()).unwrap_or(i64::MAX)
}
