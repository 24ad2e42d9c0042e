//! What is wrong with an integration and what follows, in a sentence with the number that matters.

use crate::{format, ui::literal};
use chrono::{DateTime, Utc};
use model::breaker::{Breaker, BreakerState};
use model::rules::{health::HealthKind, plain_cause};
use model::stats::IntegrationGauge;
use model::text::capitalise;

pub fn sentence(kind: HealthKind, gauge: &IntegrationGauge, breaker: &Breaker, at: DateTime<Utc>) -> String {
    let waiting = jobs_are(gauge.backlog + gauge.to_be_retried);
    match kind {
        HealthKind::Disabled => reason(gauge, "Changes create no jobs"),
        HealthKind::Paused => format!("{}. **{waiting}** kept until it is resumed.", paused_because(gauge)),
        HealthKind::Breaker(_) => breaker_sentence(breaker, &waiting, at),
        HealthKind::Throttled => format!(
            "They answered 429 and asked to wait until **{}**. **{waiting}** waiting; no attempts are used up.",
            gauge.held_until.map_or_else(String::new, |until| format::clock(until, at)),
        ),
        HealthKind::Failing => {
            format!("Nothing got through in the last minute: {}.{}", last_answer(gauge), remains(gauge))
        }
        HealthKind::ManyFail => format!(
            "**{}** of {} attempts in the last minute failed: {}.{}",
            format::count(gauge.failed_per_minute),
            format::count(gauge.delivered_per_minute + gauge.failed_per_minute),
            last_answer(gauge),
            remains(gauge),
        ),
        HealthKind::AtLimit => format!(
            "Limit {} fully used. Backlog **{}**{}.",
            gauge.rate_limit.map_or_else(String::new, |limit| format::limit(
                limit.limit.into(),
                limit.per_seconds.into()
            )),
            format::count(gauge.backlog),
            drains(gauge),
        ),
        HealthKind::AllSlotsBusy => format!(
            "All **{}** slots are in use. Backlog **{}**{}.",
            format::count(gauge.max_concurrency.into()),
            format::count(gauge.backlog),
            drains(gauge),
        ),
        HealthKind::Retrying => format!(
            "**{}** for another attempt. Last failure: {}.",
            format::counted(gauge.to_be_retried, "job waits", "jobs wait"),
            last_answer(gauge),
        ),
        HealthKind::DeadLetters => format!(
            "**{} not be tried again by {}. Last failure: {}.",
            format::counted(gauge.dead_letters, "dead letter** will", "dead letters** will"),
            if gauge.dead_letters == 1 { "itself" } else { "themselves" },
            last_answer(gauge),
        ),
        HealthKind::Syncing => {
            let done = gauge
                .eta_seconds
                .map_or_else(String::new, |eta| format!(", done in about **{}**", format::eta(eta)));
            format!("**{}** on the way{done}.", jobs_are(gauge.backlog + gauge.processing))
        }
        HealthKind::NeverSynced => {
            "Nothing was delivered yet: it gets changes from now on; a re-sync sends everything.".to_owned()
        }
        HealthKind::CaughtUp => "Nothing waits for it, and nothing fails.".to_owned(),
    }
}

/// What keeps the jobs waiting comes first, then why and what is next.
fn breaker_sentence(breaker: &Breaker, waiting: &str, at: DateTime<Utc>) -> String {
    let since =
        breaker.since.map_or_else(String::new, |since| format!(" since **{}**", format::clock(since, at)));
    let why = breaker.reason.as_deref().map_or_else(String::new, |why| format!(": {}", literal(why)));
    let next = breaker.probe_at.map_or_else(String::new, |next| {
        let time = if next > at {
            format!("at **{}**", format::clock(next, at))
        } else {
            "any moment now".to_owned()
        };
        format!(" Next probe {time}.")
    });
    let waits = format!("**{waiting}** waiting; no attempts are used up.");
    match breaker.state {
        BreakerState::Open => format!("Breaker open{since}{why}. {waits}{next}"),
        BreakerState::HalfOpen => format!("Breaker half-open{since}{why}. {waits}"),
        BreakerState::Ramping | BreakerState::Closed => {
            let concurrency =
                breaker.at_once.map_or_else(String::new, |n| format!(", **{n}** at once for now"));
            format!("It works again and ramps up{since}{concurrency}. **{waiting}** waiting.")
        }
    }
}

fn paused_because(gauge: &IntegrationGauge) -> String {
    match gauge.state_reason.as_deref() {
        // Reasons are written to follow a colon; this one starts a sentence.
        Some(reason) if !reason.is_empty() => literal(&capitalise(reason.trim_end_matches('.'))),
        _ => "Paused by hand".to_owned(),
    }
}

fn reason(gauge: &IntegrationGauge, otherwise: &str) -> String {
    let text = gauge.state_reason.as_deref().filter(|reason| !reason.is_empty()).unwrap_or(otherwise);
    format!("{}.", literal(&capitalise(text.trim_end_matches('.'))))
}

fn jobs_are(n: i64) -> String {
    if n == 1 { "1 job is".to_owned() } else { format!("{} jobs are", format::count(n)) }
}

fn last_answer(gauge: &IntegrationGauge) -> String {
    let Some(error) = &gauge.last_error else { return "no answer is on record".to_owned() };
    literal(&plain_cause::sentence(&error.message, error.response_status))
}

fn remains(gauge: &IntegrationGauge) -> String {
    let waiting = gauge.backlog + gauge.to_be_retried;
    if waiting == 0 { String::new() } else { format!(" **{}** waiting.", jobs_are(waiting)) }
}

fn drains(gauge: &IntegrationGauge) -> String {
    gauge.eta_seconds.map_or_else(String::new, |eta| format!(" drains in about **{}**", format::eta(eta)))
}
