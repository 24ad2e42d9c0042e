//! The gates between a job and its next attempt.

use super::targets::{Target, Targets};
use crate::format;
use chrono::{DateTime, Utc};
use model::rules::explain::{Reason, ReasonCode};
use model::stats::IntegrationGauge;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    pub name: &'static str,
    pub is_open: bool,
    pub detail: String,
    pub until: Option<DateTime<Utc>>,
    pub target: Option<Target>,
}

/// All gates in the order a job meets them. Those the engine names no reason for are open.
pub fn gates(reasons: &[Reason], gauge: Option<&IntegrationGauge>, targets: Targets) -> Vec<Gate> {
    use ReasonCode::{
        BehindInQueue, BehindSerializeKey, CircuitOpen, ConcurrencyFull, GathersChanges, HeldByReceiver,
        IntegrationDisabled, IntegrationPaused, NoWorker, NotInQueue, RateLimited, ResyncPaused, Scheduled,
        WaitingRetry,
    };
    let slots = gauge.map_or_else(
        || "free".to_owned(),
        |g| format!("{} in use", format::of_max(g.processing, g.max_concurrency.into())),
    );
    let limit = gauge.and_then(|g| g.rate_limit).map_or_else(
        || "no limit".to_owned(),
        |l| {
            format!(
                "{} of {}",
                format::count(l.used.into()),
                format::limit(l.limit.into(), l.per_seconds.into())
            )
        },
    );
    let table: [(&'static str, &[ReasonCode], String); 8] = [
        (
            "Integration",
            &[IntegrationDisabled, IntegrationPaused, CircuitOpen, ResyncPaused],
            "active".to_owned(),
        ),
        ("Time", &[Scheduled, GathersChanges, WaitingRetry], "due".to_owned()),
        ("Order", &[BehindSerializeKey], "first of its key".to_owned()),
        ("Their system", &[HeldByReceiver], "accepts requests".to_owned()),
        ("Rate limit", &[RateLimited], limit),
        ("Concurrency", &[ConcurrencyFull], slots),
        ("Workers", &[NoWorker], "running".to_owned()),
        ("Queue", &[BehindInQueue, NotInQueue], "nothing ahead".to_owned()),
    ];
    table
        .into_iter()
        .map(|(name, codes, open)| match reasons.iter().find(|reason| codes.contains(&reason.code)) {
            Some(reason) => {
                let target = targets.from(reason.code);
                Gate { name, is_open: false, detail: closed_in_words(reason), until: reason.until, target }
            }
            None => Gate { name, is_open: true, detail: open, until: None, target: None },
        })
        .collect()
}

fn closed_in_words(reason: &Reason) -> String {
    match reason.code {
        ReasonCode::WaitingRetry => "waits".to_owned(),
        ReasonCode::Scheduled => "scheduled".to_owned(),
        ReasonCode::GathersChanges => "collecting changes".to_owned(),
        ReasonCode::HeldByReceiver => "asked to wait (429)".to_owned(),
        ReasonCode::RateLimited => "used up".to_owned(),
        ReasonCode::IntegrationPaused => "paused".to_owned(),
        ReasonCode::IntegrationDisabled => "disabled".to_owned(),
        ReasonCode::ResyncPaused => "its re-sync is paused".to_owned(),
        ReasonCode::CircuitOpen if reason.until.is_some() => "its breaker is open".to_owned(),
        ReasonCode::CircuitOpen => "its breaker lets few through".to_owned(),
        _ => reason.detail.trim_end_matches('.').to_owned(),
    }
}

/// The engine opens a gate within a second of its time.
pub fn until_in_words(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let clock = format::clock(at, now);
    if at <= now {
        format!(" until {clock}, any moment now")
    } else {
        format!(" until {clock}, {}", format::relative(at, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::id::IntegrationId;

    #[test]
    fn a_gate_whose_time_has_come_opens_any_moment() {
        let now = DateTime::UNIX_EPOCH;
        let after = |seconds| until_in_words(now + chrono::TimeDelta::seconds(seconds), now);
        assert_eq!(after(38), " until 00:00:38, in 38 s");
        assert_eq!(after(0), " until 00:00:00, any moment now");
    }

    #[test]
    fn the_closed_gate_is_marked_and_the_others_are_open() {
        let reason = Reason {
            code: ReasonCode::ConcurrencyFull,
            detail: "50 of 50 jobs are running.".to_owned(),
            remedy: String::new(),
            until: None,
        };
        let targets = Targets { integration_id: IntegrationId::generate(), sees_deployment: false };
        let gates = gates(&[reason], None, targets);
        assert_eq!(gates.len(), 8);
        let closed: Vec<_> = gates.iter().filter(|gate| !gate.is_open).collect();
        assert_eq!(closed.len(), 1);
        assert_eq!((closed[0].name, closed[0].detail.as_str()), ("Concurrency", "50 of 50 jobs are running"));
    }
}
