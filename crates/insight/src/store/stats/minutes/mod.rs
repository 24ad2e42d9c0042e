//! Past snapshots, a row a minute: sparklines, the comparison with yesterday, and `?at=` read them.
//!
//! A minute is represented by the first snapshot taken in it. One without a snapshot has no row: it is a gap, never a zero.

mod body;
mod levels;

pub use levels::levels;

use chrono::{DateTime, Duration, DurationRound as _, Utc};
use model::id::WorkerId;
use model::stats::{MinuteTotals, Moment, Snapshot, Totals};
use queue::{error::QueueError, store::leader::Term};
use sqlx::PgPool;
use std::collections::HashMap;

/// How far back minutes can be read.
pub const KEPT: Duration = Duration::hours(25);

/// The minute of a moment.
#[must_use]
pub fn minute(at: DateTime<Utc>) -> DateTime<Utc> {
    at.duration_trunc(Duration::minutes(1)).unwrap_or(at)
}

/// Writes minutes, and keeps the last whole one, on which the next ones are based.
#[derive(Debug, Default)]
pub struct Writer {
    whole: Option<(Term, DateTime<Utc>, Snapshot)>,
    written_at: Option<DateTime<Utc>>,
}

impl Writer {
    /// Whether the minute of a snapshot is not written yet.
    #[must_use]
    pub fn wants(&self, snapshot: &Snapshot) -> bool {
        self.written_at.is_none_or(|written| minute(snapshot.at) > written)
    }

    /// Writes the minute unless it exists, and deletes expired ones in the same statement: totals after 8 days, gauges after 26 hours (one
    /// more than can be read, because rows are based on one of the hour before). False when the term is over, or the minute exists.
    pub async fn write(&mut self, pool: &PgPool, term: Term, moment: &Moment) -> Result<bool, QueueError> {
        let at = minute(moment.snapshot.at);
        let base = self.whole.as_ref().filter(|(of, whole_at, _)| *of == term && is_same_hour(*whole_at, at));
        let whole_at = base.map_or(at, |(_, whole_at, _)| *whole_at);
        let body = body::write(moment, base.map(|(_, _, whole)| whole))?;
        let Snapshot { at: sampled_at, totals, retry_pyramid, workers, .. } = &moment.snapshot;
        let written = sqlx::query!(
            r#"
            with own as materialized (
                select $3::timestamptz as at where headgate.is_leader($1, $2)
            ), expired_totals as (
                delete from headgate.total_minutes where at < (select at from own) - interval '8 days'
            ), expired_gauges as (
                delete from headgate.gauge_minutes where at < (select at from own) - interval '26 hours'
            ), totals as (
                insert into headgate.total_minutes (at, sampled_at, backlog, processing, to_be_retried, dead_letters, delivered_per_minute,
                    failed_per_minute, oldest_pending_age_seconds, workers, retry_pyramid)
                select at, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13 from own
                on conflict (at) do nothing
            )
            insert into headgate.gauge_minutes (at, whole_at, body)
            select at, $14, $15 from own
            on conflict (at) do nothing
            "#,
            term.holder as WorkerId,
            term.number,
            at,
            sampled_at,
            totals.backlog,
            totals.processing,
            totals.to_be_retried,
            totals.dead_letters,
            totals.delivered_per_minute,
            totals.failed_per_minute,
            totals.oldest_pending_age_seconds,
            workers,
            retry_pyramid,
            whole_at,
            body,
        )
        .execute(pool)
        .await?
        .rows_affected()
            == 1;
        self.written_at = Some(at);
        if written && whole_at == at {
            self.whole = Some((term, at, moment.snapshot.clone()));
        }
        Ok(written)
    }
}

fn is_same_hour(whole_at: DateTime<Utc>, at: DateTime<Utc>) -> bool {
    at.duration_trunc(Duration::hours(1)).is_ok_and(|hour| whole_at >= hour && whole_at <= at)
}

/// The snapshot of a minute; none when none was recorded, or it has expired.
pub async fn moment(pool: &PgPool, at: DateTime<Utc>) -> Result<Option<Moment>, QueueError> {
    let at = minute(at);
    Ok(moments(pool, at, at).await?.pop())
}

/// The snapshots from one minute to another, both included, oldest first; those whose whole minute is gone are left out.
pub async fn moments(
    pool: &PgPool,
    from: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Result<Vec<Moment>, QueueError> {
    let rows = sqlx::query!(
        r#"
        with own as materialized (
            select at, whole_at, body from headgate.gauge_minutes where at between $1 and $2
        )
        select at as "at!", whole_at as "whole_at!", body as "body!", true as "is_own!" from own
        union all
        select w.at, w.whole_at, w.body, false from headgate.gauge_minutes w
        where w.at = any (array(select whole_at from own)) and w.at < $1
        order by 1
        "#,
        from,
        until,
    )
    .fetch_all(pool)
    .await?;
    let mut wholes = HashMap::<DateTime<Utc>, Snapshot>::new();
    let mut moments = Vec::new();
    for row in rows {
        let is_whole = row.whole_at == row.at;
        let whole = wholes.get(&row.whole_at);
        if !is_whole && whole.is_none() {
            continue;
        }
        let moment = body::read(&row.body, whole)?;
        if is_whole {
            wholes.insert(row.at, moment.snapshot.clone());
        }
        if row.is_own {
            moments.push(moment);
        }
    }
    Ok(moments)
}

/// The recorded minute nearest to one that is not, within [`KEPT`]; none before the first.
pub async fn nearest(pool: &PgPool, at: DateTime<Utc>) -> Result<Option<DateTime<Utc>>, QueueError> {
    let found = sqlx::query_scalar!(
        r#"
        select at as "at!" from (
            (select at from headgate.gauge_minutes where at <= $1 and at > clock_timestamp() - $2::interval order by at desc limit 1)
            union all
            (select at from headgate.gauge_minutes where at > $1 and at > clock_timestamp() - $2::interval order by at limit 1)
        ) neighbours
        order by abs(extract(epoch from at - $1)) limit 1
        "#,
        at,
        sqlx::postgres::types::PgInterval { months: 0, days: 0, microseconds: KEPT.num_microseconds().unwrap_or(0) },
    )
    .fetch_optional(pool)
    .await?;
    Ok(found)
}

/// The totals from one minute to another, both included, oldest first.
pub async fn totals(
    pool: &PgPool,
    from: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Result<Vec<MinuteTotals>, QueueError> {
    let rows = sqlx::query!(
        r#"
        select sampled_at, backlog, processing, to_be_retried, dead_letters, delivered_per_minute, failed_per_minute,
            oldest_pending_age_seconds
        from headgate.total_minutes
        where at between $1 and $2
        order by at
        "#,
        from,
        until,
    )
    .fetch_all(pool)
    .await?;
    let points = rows.into_iter().map(|row| MinuteTotals {
        at: row.sampled_at,
        totals: Totals {
            backlog: row.backlog,
            processing: row.processing,
            to_be_retried: row.to_be_retried,
            dead_letters: row.dead_letters,
            delivered_per_minute: row.delivered_per_minute,
            failed_per_minute: row.failed_per_minute,
            oldest_pending_age_seconds: row.oldest_pending_age_seconds,
        },
    });
    Ok(points.collect())
}

/// The retry pyramid at a minute, or the last one recorded in the five before it.
pub async fn retry_pyramid(pool: &PgPool, at: DateTime<Utc>) -> Result<Option<Vec<i64>>, QueueError> {
    let pyramid = sqlx::query_scalar!(
        r#"
        select retry_pyramid from headgate.total_minutes
        where at <= $1 and at > $1 - interval '5 minutes' order by at desc limit 1
        "#,
        minute(at),
    )
    .fetch_optional(pool)
    .await?;
    Ok(pyramid)
}
