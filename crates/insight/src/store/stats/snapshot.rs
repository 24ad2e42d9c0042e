//! The snapshot: all live numbers at a moment, the gauges in one statement.

use super::eta::{Levels, Pace, eta_seconds};
use super::{answers, latency, live_snapshots};
use crate::store::{failures, stored_name::parse_stored};
use chrono::{DateTime, Utc};
use model::actor::Scope;
use model::breaker::Breaker;
use model::failure::{FailureFilter, FailureSummary, GrowingFailure};
use model::id::{AppId, IntegrationId};
use model::integration::IntegrationState;
use model::rate_limit::RateLimitUse;
use model::rules::masking::without_secrets;
use model::stats::{IntegrationGauge, Snapshot, Totals};
use model::sync_status::LastError;
use queue::error::QueueError;
use queue::store::counts::LaneCounts;
use queue::store::counts::latency::Spans;
use sqlx::{Connection as _, PgConnection, PgPool};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Percentiles are of five minutes and failures of an hour: they hardly change within seconds, and the histograms of thousands of integrations are
/// much to read.
const LATENCIES_EVERY: Duration = Duration::from_secs(10);

/// What the sampler remembers from one snapshot to the next.
#[derive(Debug, Default)]
pub struct SamplerMemory {
    levels: Levels,
    latencies: HashMap<IntegrationId, Spans>,
    /// The number of answers of the last five minutes, and how many were 429.
    answers: HashMap<IntegrationId, (i64, i64)>,
    latencies_at: Option<Instant>,
    latencies_took: Duration,
    growing: Vec<GrowingFailure>,
}

impl SamplerMemory {
    /// Reads latencies, answers and growing failures again, at most so often that it takes a twentieth of the time.
    async fn refresh_latencies(&mut self, pool: &PgPool) -> Result<(), QueueError> {
        let wait = LATENCIES_EVERY.max(self.latencies_took * 20);
        if self.latencies_at.is_none_or(|at| at.elapsed() >= wait) {
            let began_at = Instant::now();
            self.latencies = latency::recent(pool, None).await?;
            self.answers = answers::recent(pool, None).await?;
            self.growing = failures::growing(pool).await?;
            self.latencies_took = began_at.elapsed();
            self.latencies_at = Some(Instant::now());
        }
        Ok(())
    }
}

/// The snapshot of now. Without earlier levels, ETAs are based on the jobs that ended in the last minute.
pub async fn snapshot(pool: &PgPool) -> Result<Snapshot, QueueError> {
    snapshot_with(pool, &mut SamplerMemory::default()).await
}

/// The snapshot of now; its levels are added to the memory, from which ETAs follow.
pub async fn snapshot_with(pool: &PgPool, memory: &mut SamplerMemory) -> Result<Snapshot, QueueError> {
    memory.refresh_latencies(pool).await?;
    // One connection for all: each return to the pool costs a check of the connection.
    let mut connection = pool.acquire().await?;
    let lanes = read(&mut connection, None).await?;
    let workers = sqlx::query!(
        r#"
        select statement_timestamp() as "at!",
            (select count(*) from headgate.workers where lease_until > statement_timestamp()) as "live!"
        "#
    )
    .fetch_one(&mut *connection)
    .await?;
    let open = failures::count_open(&mut *connection, Scope::AllApps, &FailureFilter::default()).await?;
    drop(connection);
    let at = lanes.first().map_or(workers.at, |lane| lane.at);
    let outstanding = lanes
        .iter()
        .filter(|lane| lane.counts.outstanding() > 0)
        .map(|lane| (lane.gauge.integration_id, lane.counts.outstanding()))
        .collect::<HashMap<_, _>>();

    let mut sum = LaneCounts::default();
    let mut totals = Totals::default();
    let mut integrations = Vec::with_capacity(lanes.len());
    for lane in lanes {
        sum.merge(&lane.counts);
        totals.delivered_per_minute += lane.gauge.delivered_per_minute;
        totals.failed_per_minute += lane.gauge.failed_per_minute;
        totals.oldest_pending_age_seconds =
            totals.oldest_pending_age_seconds.max(lane.gauge.oldest_pending_age_seconds);
        let id = lane.gauge.integration_id;
        let peak = memory.levels.peak(id, at, lane.counts.outstanding());
        let accepted = memory
            .levels
            .a_minute_ago(id, at)
            .map(|before| (lane.counts.outstanding() - before + lane.ended_per_minute).max(0));
        let gauge = with_latencies(lane.into_gauge(peak), memory.latencies.get(&id));
        integrations.push(IntegrationGauge {
            accepted_per_minute: accepted,
            refused_share: refused_share(memory.answers.get(&id)),
            ..gauge
        });
    }
    memory.levels.remember(at, outstanding);
    totals.backlog = sum.backlog;
    totals.processing = sum.processing;
    totals.to_be_retried = sum.to_be_retried;
    totals.dead_letters = sum.dead_letters;
    Ok(Snapshot {
        at,
        totals,
        retry_pyramid: sum.retry_pyramid,
        integrations,
        workers: workers.live,
        failures: FailureSummary { open: Some(open), growing: memory.growing.clone() },
        warnings: Vec::new(),
    })
}

fn refused_share(answers: Option<&(i64, i64)>) -> Option<f64> {
    answers.filter(|(all, _)| *all > 0).map(|(all, refused)| *refused as f64 / *all as f64)
}

fn with_latencies(gauge: IntegrationGauge, spans: Option<&Spans>) -> IntegrationGauge {
    IntegrationGauge {
        latency: spans.and_then(|spans| spans.latency.percentiles()),
        wait: spans.and_then(|spans| spans.wait.percentiles()),
        ..gauge
    }
}

/// Every integration's gauges, by id.
pub async fn integrations(pool: &PgPool) -> Result<Vec<IntegrationGauge>, QueueError> {
    Ok(snapshot(pool).await?.integrations)
}

/// One integration's gauges at the time of the call: they include every committed change. The ETA is that of the sampler, which has earlier levels;
/// without it, it is based on the jobs that ended in the last minute.
///
/// # Errors
/// `NotFound` when the scope has no such integration.
pub async fn gauge(
    pool: &PgPool,
    scope: Scope,
    integration_id: IntegrationId,
) -> Result<IntegrationGauge, QueueError> {
    let lane =
        read(&mut *pool.acquire().await?, Some(integration_id)).await?.pop().ok_or(QueueError::NotFound)?;
    if !scope.contains(lane.gauge.app_id) {
        return Err(QueueError::NotFound);
    }
    let is_idle = lane.counts.outstanding() == 0;
    let sampled = if is_idle { None } else { live_snapshots::eta_seconds(pool, integration_id).await? };
    let recent = latency::recent(pool, Some(integration_id)).await?;
    let answered = answers::recent(pool, Some(integration_id)).await?;
    let gauge = with_latencies(lane.into_gauge(None), recent.get(&integration_id));
    let gauge = IntegrationGauge { refused_share: refused_share(answered.get(&integration_id)), ..gauge };
    Ok(match sampled {
        // An ETA of 0 was sampled before the jobs that are outstanding now arrived.
        None | Some(Some(0)) => gauge,
        Some(eta_seconds) => IntegrationGauge { eta_seconds, ..gauge },
    })
}

/// An integration as read: its gauge without the ETA, and what the ETA is based on.
struct Lane {
    at: DateTime<Utc>,
    counts: LaneCounts,
    gauge: IntegrationGauge,
    ended_per_minute: i64,
    limit_emission_us: Option<i64>,
}

impl Lane {
    fn into_gauge(self, peak: Option<(i64, f64)>) -> IntegrationGauge {
        let pace = Pace {
            outstanding: self.counts.outstanding(),
            peak,
            ended_per_minute: self.ended_per_minute,
            limit_per_second: self.limit_emission_us.map(|emission| 1_000_000.0 / emission.max(1) as f64),
        };
        let is_open = self.gauge.breaker.as_ref().is_some_and(|breaker| breaker.at_once == Some(0));
        let runs = self.gauge.state == IntegrationState::Active && !is_open;
        // There is no ETA while the integration is paused or its breaker open, unless nothing is outstanding.
        let eta = eta_seconds(pace).filter(|eta| runs || *eta == 0);
        IntegrationGauge { eta_seconds: eta, ..self.gauge }
    }
}

/// With a generic plan, because planning each second took 3 ms, a third of the load of an idle deployment.
const BEGIN: &str =
    "begin isolation level read committed read only; set local plan_cache_mode = force_generic_plan";
const BEGIN_FOR_ONE: &str = "begin isolation level read committed read only";

async fn read(connection: &mut PgConnection, only: Option<IntegrationId>) -> Result<Vec<Lane>, QueueError> {
    // For one integration a plan of its own pays off.
    let mut transaction = connection.begin_with(if only.is_none() { BEGIN } else { BEGIN_FOR_ONE }).await?;
    let rows = sqlx::query_file!("src/store/stats/snapshot.sql", only as Option<IntegrationId>)
        .fetch_all(&mut *transaction)
        .await?;
    transaction.commit().await?;
    rows.into_iter()
        .map(|row| {
            let mut counts = LaneCounts::default();
            for ((status, attempt), n) in row.statuses.iter().zip(&row.attempts).zip(&row.counts) {
                counts.add(*status, *attempt, *n);
            }
            let rate_limit = match (row.limit_requests, row.limit_per_seconds, row.limit_used) {
                (Some(limit), Some(per_seconds), Some(used)) => {
                    Some(RateLimitUse { limit, used, per_seconds })
                }
                _ => None,
            };
            let last_error = row.error_at.zip(row.error_message).map(|(at, message)| LastError {
                at,
                message: without_secrets(message),
                response_status: row.error_status,
            });
            let breaker = match row.breaker_state {
                Some(state) => Some(Breaker {
                    state: parse_stored(&state)?,
                    since: row.breaker_since,
                    probe_at: row.probe_at,
                    held_until: row.breaker_held_until,
                    failures_in_a_row: row.failures_in_a_row.unwrap_or(0),
                    at_once: row.at_once,
                    reason: row.breaker_reason,
                }),
                None => None,
            };
            let gauge = IntegrationGauge {
                integration_id: row.integration_id,
                app_id: row.app_id,
                app_name: row.app_name,
                name: row.name,
                integration_type: parse_stored(&row.integration_type)?,
                state: parse_stored(&row.state)?,
                state_reason: row.state_reason,
                breaker,
                backlog: counts.backlog,
                processing: counts.processing,
                max_concurrency: row.max_concurrency,
                to_be_retried: counts.to_be_retried,
                dead_letters: counts.dead_letters,
                retry_pyramid: counts.retry_pyramid.clone(),
                delivered_per_minute: row.delivered,
                failed_per_minute: row.failed,
                accepted_per_minute: None,
                refused_share: None,
                oldest_pending_age_seconds: row.oldest_pending_age_seconds,
                eta_seconds: None,
                latency: None,
                wait: None,
                rate_limit,
                held_until: row.held_until,
                last_success_at: row.last_success_at,
                last_error,
            };
            Ok(Lane {
                at: row.at,
                counts,
                gauge,
                ended_per_minute: row.ended,
                limit_emission_us: row.limit_emission_us,
            })
        })
        .collect()
}
