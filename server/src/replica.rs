//! How far the replica that lists are read from is behind, which a list itself does not show.
//!
//! The newest snapshot on the replica is compared with the newest one of the primary. Both times are the sampler's, so no two clocks are compared, and
//! a replica that receives nothing any more falls behind like a slow one.

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;
use chrono::{DateTime, TimeDelta, Utc};
use insight::{live::LiveHub, store::stats::live_snapshots};
use sqlx::PgPool;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// A replica that takes longer to answer counts as unreachable.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// Only a larger lag is reported.
const MAX_UNREPORTED_LAG: TimeDelta = TimeDelta::seconds(2);
/// Whole seconds by which lists are behind, on the API's answers.
const HEADER: HeaderName = HeaderName::from_static("x-lists-behind-seconds");

/// The replica's lag as last measured. Cheap to clone.
#[derive(Clone)]
pub struct Replica(watch::Receiver<Lag>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lag {
    Of(TimeDelta),
    /// The replica does not answer, or has no snapshot of this deployment.
    Unknown,
}

impl Lag {
    fn between(newest: Option<DateTime<Utc>>, there: Option<DateTime<Utc>>) -> Self {
        match (newest, there) {
            // There is no snapshot yet, so there is nothing to compare.
            (None, _) => Self::Of(TimeDelta::zero()),
            (Some(newest), Some(there)) => Self::Of((newest - there).max(TimeDelta::zero())),
            (Some(_), None) => Self::Unknown,
        }
    }

    /// The lag in seconds, if it is large enough to be reported.
    #[must_use]
    pub fn reportable_seconds(self) -> Option<i64> {
        match self {
            Self::Of(lag) if lag > MAX_UNREPORTED_LAG => Some(lag.num_seconds()),
            Self::Of(_) | Self::Unknown => None,
        }
    }
}

impl Replica {
    /// Measures the lag once a second until `stop`.
    #[must_use]
    pub fn watch(pool: PgPool, live: LiveHub, stop: CancellationToken) -> Self {
        let (sender, lag) = watch::channel(Lag::Of(TimeDelta::zero()));
        tokio::spawn(async move {
            while !stop.is_cancelled() {
                let there = timeout(ANSWER_TIMEOUT, live_snapshots::newest_at(&pool)).await;
                let newest = live.current().snapshot.as_ref().map(|snapshot| snapshot.at);
                let lag = match there {
                    Ok(Ok(there)) => Lag::between(newest, there),
                    Ok(Err(_)) | Err(_) => Lag::Unknown,
                };
                log_change(sender.send_replace(lag), lag);
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = sleep(POLL_INTERVAL) => {}
                }
            }
        });
        Self(lag)
    }

    /// Notifies about each change of the lag.
    #[must_use]
    pub fn watch_lag(&self) -> watch::Receiver<Lag> {
        self.0.clone()
    }

    #[must_use]
    pub fn lag(&self) -> Lag {
        *self.0.borrow()
    }

    /// Seconds by which lists are behind, if that is enough to be reported.
    #[must_use]
    pub fn lists_behind(&self) -> Option<i64> {
        self.lag().reportable_seconds()
    }
}

fn log_change(before: Lag, now: Lag) {
    match (now, now.reportable_seconds()) {
        (Lag::Unknown, _) if before != Lag::Unknown => {
            tracing::warn!(
                "the replica of HEADGATE_DATABASE_READ_URL does not answer, or is a replica of another database"
            );
        }
        (_, Some(seconds)) if before.reportable_seconds().is_none() => {
            tracing::warn!(
                "the replica of HEADGATE_DATABASE_READ_URL is {seconds} s behind, and so are lists"
            );
        }
        (Lag::Of(_), None) if before == Lag::Unknown || before.reportable_seconds().is_some() => {
            tracing::info!("the replica of HEADGATE_DATABASE_READ_URL has caught up");
        }
        _ => {}
    }
}

/// Adds the lag to each answer that may be a list.
pub(crate) async fn lag_header(
    State(replica): State<Option<Replica>>,
    request: Request,
    next: Next,
) -> Response {
    let reads = request.method() == Method::GET;
    let mut response = next.run(request).await;
    if reads && let Some(seconds) = replica.as_ref().and_then(Replica::lists_behind) {
        response.headers_mut().insert(HEADER, HeaderValue::from(seconds));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lag_of_more_than_two_seconds_is_reported() {
        let at = |seconds| DateTime::from_timestamp(seconds, 0);
        for (newest, there, lag, reported) in [
            (at(100), at(100), Lag::Of(TimeDelta::zero()), None),
            (at(100), at(101), Lag::Of(TimeDelta::zero()), None),
            (at(102), at(100), Lag::Of(TimeDelta::seconds(2)), None),
            (at(103), at(100), Lag::Of(TimeDelta::seconds(3)), Some(3)),
            (at(100), None, Lag::Unknown, None),
            (None, None, Lag::Of(TimeDelta::zero()), None),
        ] {
            assert_eq!(Lag::between(newest, there), lag);
            assert_eq!(lag.reportable_seconds(), reported);
        }
    }
}
