//! How far the replica is behind that lists are read from: a list itself does not show it.
//!
//! The newest snapshot on the replica is held against the newest there is. Both times are the sampler's, so no two clocks are compared, and a replica
//! that hears nothing any more falls behind like one that is slow.

use crate::state::AppState;
use axum::{
    extract::{Request, State},
    http::{HeaderName, HeaderValue, Method},
    middleware::Next,
    response::Response,
};
use chrono::{DateTime, TimeDelta, Utc};
use insight::{live::LiveHub, store::stats::live_snapshots};
use sqlx::PgPool;
use std::time::Duration;
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

/// Between two looks.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// A replica that takes longer to answer does not count as there.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// What is more is told.
const MAX_UNREPORTED_LAG: TimeDelta = TimeDelta::seconds(2);
/// Whole seconds by which lists are behind, on the API's answers.
const HEADER: HeaderName = HeaderName::from_static("x-lists-behind-seconds");

/// The replica, as it was last seen. Cheap to clone.
#[derive(Clone)]
pub struct Replica(watch::Receiver<Lag>);

/// How far a replica is behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lag {
    /// By so much.
    Of(TimeDelta),
    /// It does not answer, or has nothing of this deployment.
    Unknown,
}

impl Lag {
    fn between(newest: Option<DateTime<Utc>>, there: Option<DateTime<Utc>>) -> Self {
        match (newest, there) {
            // Nobody has sampled yet: there is nothing to be behind of.
            (None, _) => Self::Of(TimeDelta::zero()),
            (Some(newest), Some(there)) => Self::Of((newest - there).max(TimeDelta::zero())),
            (Some(_), None) => Self::Unknown,
        }
    }

    /// Seconds, where it is so much that it is told.
    #[must_use]
    pub fn reportable_seconds(self) -> Option<i64> {
        match self {
            Self::Of(lag) if lag > MAX_UNREPORTED_LAG => Some(lag.num_seconds()),
            Self::Of(_) | Self::Unknown => None,
        }
    }
}

impl Replica {
    /// Looks once a second until `stop`.
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

    /// Tells when that is another one.
    #[must_use]
    pub fn watch_lag(&self) -> watch::Receiver<Lag> {
        self.0.clone()
    }

    /// As it was last seen.
    #[must_use]
    pub fn lag(&self) -> Lag {
        *self.0.borrow()
    }
}

/// What is news.
fn log_change(before: Lag, now: Lag) {
    match (now, now.reportable_seconds()) {
        (Lag::Unknown, _) if before != Lag::Unknown => {
            tracing::warn!(
                "the replica of HEADGATE_DATABASE_READ_URL does not answer, or is another database's"
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

/// Says with each answer that may be a list how far lists are behind.
pub(crate) async fn lag_header(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let reads = request.method() == Method::GET;
    let mut response = next.run(request).await;
    if reads && let Some(seconds) = state.lists_behind() {
        response.headers_mut().insert(HEADER, HeaderValue::from(seconds));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_seconds_are_not_told_and_more_is() {
        let at = |seconds| DateTime::from_timestamp(seconds, 0);
        for (newest, there, lag, told) in [
            (at(100), at(100), Lag::Of(TimeDelta::zero()), None),
            (at(100), at(101), Lag::Of(TimeDelta::zero()), None),
            (at(102), at(100), Lag::Of(TimeDelta::seconds(2)), None),
            (at(103), at(100), Lag::Of(TimeDelta::seconds(3)), Some(3)),
            (at(100), None, Lag::Unknown, None),
            (None, None, Lag::Of(TimeDelta::zero()), None),
        ] {
            assert_eq!(Lag::between(newest, there), lag);
            assert_eq!(lag.reportable_seconds(), told);
        }
    }
}
