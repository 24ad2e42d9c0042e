//! How long attempts and waits take: histograms that processes append and the leader folds into `throughput`.
//!
//! Rows of `throughput` under the nil id are those of all integrations together, and those under an app's id those of the app, so that a chart of either
//! reads as few rows as that of one integration. Rows of all have counts too (`insight` rolls them up). Rows of an app have histograms only, and only in the
//! step of a day's chart, which would otherwise read too much: the minutes of 40 integrations are 57,600 rows of histograms, 60 MB.

use crate::{
    error::QueueError,
    store::{counts::fold::CHUNK, leader::Term},
};
use model::{
    histogram::Histogram,
    id::{IntegrationId, WorkerId},
};
use sqlx::PgPool;
use std::collections::BTreeMap;
use std::{collections::HashMap, fmt::Write as _, time::Duration};

/// The status that stands for no answer: the connection broke, or the request timed out.
pub const NO_ANSWER: i16 = 0;

/// Counts by status.
pub type Statuses = BTreeMap<i16, i32>;

/// The id of all integrations together.
pub const ALL: uuid::Uuid = uuid::Uuid::nil();
/// The step in seconds of the sums that a day's chart reads.
pub const DAY_STEP: i32 = 900;

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
pub async fn append(pool: &PgPool, gathered: &HashMap<IntegrationId, Spans>) -> Result<(), QueueError> {
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

/// Folds `latency_deltas` into `throughput`, `answers` and the sums since the beginning; returns how many deltas.
pub async fn fold(pool: &PgPool, term: Term) -> Result<i64, QueueError> {
    // By integration first, so that few rows are left to sum for the coarser steps and for all together.
    let folded = sqlx::query_scalar!(
        r#"
        with taken as materialized (
            delete from headgate.latency_deltas
            where ctid = any (array(
                select ctid from headgate.latency_deltas
                where (select headgate.is_leader($1, $2))
                limit $3 for update skip locked
            ))
            returning integration_id, at, latency, wait, latency_us, wait_us, statuses, status_counts
        ), tens as materialized (
            select integration_id, to_timestamp(floor(extract(epoch from at) / 10) * 10) as at,
                headgate.sum_counts(latency) as latency, headgate.sum_counts(wait) as wait
            from taken
            group by 1, 2
        ), all_tens as materialized (
            select at, headgate.sum_counts(latency) as latency, headgate.sum_counts(wait) as wait from tens group by at
        ), app_tens as materialized (
            select i.app_id, t.at, headgate.sum_counts(t.latency) as latency, headgate.sum_counts(t.wait) as wait
            from tens t join headgate.integrations i on i.id = t.integration_id
            group by 1, 2
        ), sums as (
            select t.integration_id, s.step_seconds,
                to_timestamp(floor(extract(epoch from t.at) / s.step_seconds) * s.step_seconds) as bucket_at,
                headgate.sum_counts(t.latency) as latency, headgate.sum_counts(t.wait) as wait
            from (
                select integration_id, at, latency, wait, array[10, 60, 3600] as steps from tens
                union all
                select $4::uuid, at, latency, wait, array[10, 60, $5::int, 3600] from all_tens
                union all
                select app_id, at, latency, wait, array[$5::int] from app_tens
            ) t
            cross join unnest(t.steps) s (step_seconds)
            group by 1, 2, 3
            order by 2, 3, 1
        ), added as (
            insert into headgate.throughput as t (integration_id, step_seconds, bucket_at, latency, wait)
            select integration_id, step_seconds, bucket_at, latency, wait from sums
            on conflict (step_seconds, bucket_at, integration_id) do update
            set latency = headgate.add_counts(t.latency, excluded.latency), wait = headgate.add_counts(t.wait, excluded.wait)
        ), answered as (
            insert into headgate.answers as a (integration_id, step_seconds, bucket_at, status, n)
            select t.integration_id, s.step_seconds, to_timestamp(floor(extract(epoch from t.at) / s.step_seconds) * s.step_seconds),
                u.status, sum(u.n)::bigint
            from taken t, unnest(t.statuses, t.status_counts) u (status, n), (values (60), (3600)) s (step_seconds)
            group by 1, 2, 3, 4
            order by 1, 2, 3, 4
            on conflict (integration_id, step_seconds, bucket_at, status) do update set n = a.n + excluded.n
        ), ever as (
            update headgate.totals o
            set latency = headgate.add_counts(o.latency, n.latency), wait = headgate.add_counts(o.wait, n.wait),
                latency_us = o.latency_us + n.latency_us, wait_us = o.wait_us + n.wait_us
            from (
                select (select headgate.sum_counts(latency) from all_tens) as latency, (select headgate.sum_counts(wait) from all_tens) as wait,
                    sum(latency_us)::bigint as latency_us, sum(wait_us)::bigint as wait_us, count(*) as n
                from taken
            ) n
            where n.n > 0
        )
        select count(*) as "folded!" from taken
        "#,
        term.holder as WorkerId,
        term.number,
        CHUNK,
        ALL,
        DAY_STEP,
    )
    .fetch_one(pool)
    .await?;
    Ok(folded)
}

/// The last five minutes of every integration in which attempts ended, or of one.
pub async fn recent(
    pool: &PgPool,
    only: Option<IntegrationId>,
) -> Result<HashMap<IntegrationId, Spans>, QueueError> {
    let rows = sqlx::query!(
        r#"
        select integration_id as "integration_id!: IntegrationId", latency as "latency!", wait as "wait!"
        from headgate.throughput
        where step_seconds = 60 and bucket_at > statement_timestamp() - interval '5 minutes' and latency <> '{}'
            and ($1::uuid is null or integration_id = $1) and integration_id <> $2
        union all
        select integration_id, latency, wait from headgate.latency_deltas where $1::uuid is null or integration_id = $1
        "#,
        only as Option<IntegrationId>,
        ALL,
    )
    .fetch_all(pool)
    .await?;
    let mut recent = HashMap::<IntegrationId, Spans>::new();
    for row in rows {
        recent.entry(row.integration_id).or_default().merge(&Spans::of(row.latency, row.wait));
    }
    Ok(recent)
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
