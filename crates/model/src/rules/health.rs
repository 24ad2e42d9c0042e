//! How an integration is doing, judged from its gauges: what is wrong, and how bad that is compared with others. The API, the console's tables and
//! its headline judge by the same rules; words and colours are the console's.

use crate::breaker::BreakerState;
use crate::integration::{IntegrationState, IntegrationType};
use crate::stats::IntegrationGauge;
use chrono::{DateTime, Utc};
use std::cmp::Ordering;

/// From this share of failed attempts on, an integration counts as failing although some get through.
const MANY_FAIL: f64 = 0.3;

/// From this share of a used rate limit on, the limit is what a backlog waits for.
const NEARLY_USED_UP: f64 = 0.9;

/// What keeps an integration from being up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthKind {
    /// Switched off: changes create no jobs.
    Disabled,
    /// Paused: jobs are kept.
    Paused,
    /// Its circuit breaker stops or slows the sending.
    Breaker(BreakerState),
    /// The external system answered 429 and asked to wait.
    Throttled,
    /// No attempt of the last minute got through.
    Failing,
    /// Many attempts of the last minute failed, not all.
    ManyFail,
    /// Its backlog waits for its rate limit.
    AtLimit,
    /// Its backlog waits for its concurrency limit.
    AllSlotsBusy,
    /// Jobs wait for another attempt.
    Retrying,
    /// Nothing waits, but jobs were given up.
    DeadLetters,
    /// Jobs are on their way.
    Syncing,
    /// Nothing was ever delivered.
    NeverSynced,
    /// Nothing waits, nothing fails. Not "in sync": gauges count jobs, and do not know which records the system has.
    CaughtUp,
}

/// The judgement of one integration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Health {
    /// The first rule that applies, in the order of [`HealthKind`] (dead letters only where nothing waits).
    pub kind: HealthKind,
    /// 0 is fine; from [`Health::ATTENTION`] on somebody should look at it.
    pub severity: u8,
}

impl Health {
    /// The least severity that needs attention.
    pub const ATTENTION: u8 = 30;

    /// Judges one integration at the moment of its gauges.
    #[must_use]
    pub fn of(gauge: &IntegrationGauge, at: DateTime<Utc>) -> Self {
        let kind = kind(gauge, at);
        Self { kind, severity: severity(kind, gauge.backlog + gauge.to_be_retried > 0) }
    }

    /// Whether somebody should look at it.
    #[must_use]
    pub fn needs_attention(self) -> bool {
        self.severity >= Self::ATTENTION
    }

    /// Severity, then backlog; equal ones by name, so that rows keep their order.
    #[must_use]
    pub fn worst_first(a: (Self, &IntegrationGauge), b: (Self, &IntegrationGauge)) -> Ordering {
        (b.0.severity, b.1.backlog)
            .cmp(&(a.0.severity, a.1.backlog))
            .then_with(|| a.1.name.cmp(&b.1.name))
            .then(a.1.integration_id.cmp(&b.1.integration_id))
    }
}

/// When an integration's waiting jobs are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// None wait, or only ones whose next attempt is due later.
    Clear,
    /// In about so many seconds.
    ClearsIn(i64),
    /// More jobs arrive than end.
    Grows,
    /// Nothing is sent: it is paused or disabled, its circuit is open, or its system asked to wait.
    StandsStill,
    /// Too little was seen yet, or nothing ends.
    Unknown,
}

impl Outlook {
    /// Judges one integration at the moment of its gauges.
    #[must_use]
    pub fn of(gauge: &IntegrationGauge, at: DateTime<Utc>) -> Self {
        match Health::of(gauge, at).kind {
            HealthKind::Disabled
            | HealthKind::Paused
            | HealthKind::Breaker(BreakerState::Open | BreakerState::HalfOpen)
            | HealthKind::Throttled
                if gauge.backlog + gauge.to_be_retried > 0 =>
            {
                return Self::StandsStill;
            }
            _ if gauge.backlog == 0 => return Self::Clear,
            _ => {}
        }
        let grows = gauge.accepted_per_minute.is_some_and(|accepted| accepted > gauge.delivered_per_minute);
        match gauge.eta_seconds {
            Some(eta) => Self::ClearsIn(eta),
            None if grows => Self::Grows,
            None => Self::Unknown,
        }
    }

    /// Whether waiting jobs have no time by which they are done.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Grows | Self::StandsStill | Self::Unknown)
    }

    /// The estimate, where there is one.
    #[must_use]
    pub fn seconds(self) -> Option<i64> {
        match self {
            Self::ClearsIn(seconds) => Some(seconds),
            _ => None,
        }
    }
}

fn kind(gauge: &IntegrationGauge, at: DateTime<Utc>) -> HealthKind {
    match gauge.state {
        IntegrationState::Disabled => return HealthKind::Disabled,
        IntegrationState::Paused => return HealthKind::Paused,
        IntegrationState::Active => {}
    }
    if let Some(breaker) = &gauge.breaker {
        return HealthKind::Breaker(breaker.state);
    }
    if gauge.held_until.is_some_and(|until| until > at) {
        return HealthKind::Throttled;
    }
    let tried = gauge.delivered_per_minute + gauge.failed_per_minute;
    if tried > 0 && gauge.delivered_per_minute == 0 {
        return HealthKind::Failing;
    }
    if tried > 0 && gauge.failed_per_minute as f64 / tried as f64 >= MANY_FAIL {
        return HealthKind::ManyFail;
    }
    let has_backlog = gauge.backlog > 0;
    if has_backlog
        && gauge.rate_limit.is_some_and(|l| f64::from(l.used) >= NEARLY_USED_UP * f64::from(l.limit))
    {
        return HealthKind::AtLimit;
    }
    if has_backlog && gauge.processing >= i64::from(gauge.max_concurrency) {
        return HealthKind::AllSlotsBusy;
    }
    if gauge.to_be_retried > 0 {
        return HealthKind::Retrying;
    }
    if gauge.dead_letters > 0 && !has_backlog {
        return HealthKind::DeadLetters;
    }
    if has_backlog || gauge.processing > 0 {
        return HealthKind::Syncing;
    }
    // Workers fetch jobs of external integrations; nothing is sent to those.
    if gauge.last_success_at.is_none() && gauge.integration_type != IntegrationType::External {
        return HealthKind::NeverSynced;
    }
    HealthKind::CaughtUp
}

const fn severity(kind: HealthKind, has_waiting: bool) -> u8 {
    match kind {
        HealthKind::Breaker(BreakerState::Open) => 95,
        HealthKind::Failing => 90,
        HealthKind::Breaker(BreakerState::HalfOpen) => 85,
        HealthKind::ManyFail => 80,
        HealthKind::Throttled => 60,
        HealthKind::AtLimit => 50,
        HealthKind::Breaker(BreakerState::Ramping | BreakerState::Closed) => 45,
        HealthKind::Paused if has_waiting => 40,
        HealthKind::AllSlotsBusy => 35,
        HealthKind::DeadLetters => 32,
        HealthKind::Retrying => 30,
        HealthKind::Syncing => 15,
        HealthKind::Paused => 10,
        HealthKind::Disabled => 5,
        HealthKind::NeverSynced => 1,
        HealthKind::CaughtUp => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::breaker::Breaker;
    use crate::fixtures::{idle_gauge, noon};
    use crate::rate_limit::RateLimitUse;
    use chrono::TimeDelta;

    #[test]
    fn the_first_rule_that_applies_wins() {
        type Change = fn(&mut IntegrationGauge);
        let cases: [(HealthKind, Change); 13] = [
            (HealthKind::CaughtUp, |_| ()),
            (HealthKind::NeverSynced, |g| g.last_success_at = None),
            (HealthKind::CaughtUp, |g| {
                (g.last_success_at, g.integration_type) = (None, IntegrationType::External);
            }),
            (HealthKind::Syncing, |g| g.backlog = 3),
            (HealthKind::Retrying, |g| g.to_be_retried = 3),
            (HealthKind::DeadLetters, |g| g.dead_letters = 3),
            (HealthKind::AllSlotsBusy, |g| (g.backlog, g.processing) = (9, 50)),
            (HealthKind::AtLimit, |g| {
                g.backlog = 9;
                g.rate_limit = Some(RateLimitUse { limit: 10, used: 9, per_seconds: 1 });
            }),
            (HealthKind::ManyFail, |g| (g.delivered_per_minute, g.failed_per_minute) = (7, 3)),
            (HealthKind::Failing, |g| g.failed_per_minute = 1),
            (HealthKind::Throttled, |g| g.held_until = Some(noon() + TimeDelta::seconds(9))),
            (HealthKind::Breaker(BreakerState::Open), |g| {
                g.breaker = Some(Breaker { state: BreakerState::Open, ..Breaker::default() });
            }),
            (HealthKind::Paused, |g| g.state = IntegrationState::Paused),
        ];
        for (kind, change) in cases {
            let mut gauge = idle_gauge();
            change(&mut gauge);
            assert_eq!(Health::of(&gauge, noon()).kind, kind);
        }
    }

    #[test]
    fn a_pause_needs_attention_while_jobs_wait() {
        let mut gauge = IntegrationGauge { state: IntegrationState::Paused, ..idle_gauge() };
        assert!(!Health::of(&gauge, noon()).needs_attention());
        gauge.backlog = 1;
        assert!(Health::of(&gauge, noon()).needs_attention());
        assert!(!Health::of(&idle_gauge(), noon()).needs_attention());
    }

    #[test]
    fn no_time_is_promised_for_what_stands_still_or_grows() {
        type Change = fn(&mut IntegrationGauge);
        let cases: [(Outlook, Change); 8] = [
            (Outlook::Clear, |g| g.backlog = 0),
            (Outlook::ClearsIn(20), |_| ()),
            (Outlook::StandsStill, |g| g.held_until = Some(noon() + TimeDelta::seconds(9))),
            (Outlook::StandsStill, |g| g.state = IntegrationState::Paused),
            (Outlook::StandsStill, |g| {
                g.breaker = Some(Breaker { state: BreakerState::Open, ..Breaker::default() });
            }),
            (Outlook::Unknown, |g| g.eta_seconds = None),
            (Outlook::Grows, |g| (g.eta_seconds, g.accepted_per_minute) = (None, Some(600))),
            (Outlook::Clear, |g| (g.backlog, g.to_be_retried) = (0, 9)),
        ];
        for (outlook, change) in cases {
            let mut gauge = IntegrationGauge { backlog: 9, eta_seconds: Some(20), ..idle_gauge() };
            change(&mut gauge);
            assert_eq!(Outlook::of(&gauge, noon()), outlook);
        }
    }
}
