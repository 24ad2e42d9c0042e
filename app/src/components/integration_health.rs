//! How an integration is doing, judged from its gauges: a word, a sentence with the number that matters, and how bad it is
//! compared with others.

use super::{BreakerStyle, rich_text::foreign};
use crate::{
    format,
    ui::{Glyph, Pill, Tone},
};
use leptos::prelude::*;
use model::{
    breaker::{Breaker, BreakerState},
    integration::{IntegrationState, IntegrationType},
    stats::IntegrationGauge,
};
use std::cmp::Ordering;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    pub tone: Tone,
    pub glyph: Glyph,
    pub word: &'static str,
    /// What is wrong and what follows, with `**strong**` where it matters.
    pub sentence: String,
    /// 0 is fine; from [`Health::ATTENTION`] on somebody should look at it.
    pub severity: u8,
}

impl Health {
    /// The least severity on the overview's list.
    pub const ATTENTION: u8 = 30;

    /// Severity, then backlog; equal ones by name, so that rows keep their order.
    pub fn worst_first(a: (&Self, &IntegrationGauge), b: (&Self, &IntegrationGauge)) -> Ordering {
        (b.0.severity, b.1.backlog)
            .cmp(&(a.0.severity, a.1.backlog))
            .then_with(|| a.1.name.cmp(&b.1.name))
            .then(a.1.integration_id.cmp(&b.1.integration_id))
    }

    /// Judges one integration at the moment of its gauges. The first rule that applies wins.
    pub fn of(gauge: &IntegrationGauge, at: chrono::DateTime<chrono::Utc>) -> Self {
        let waiting = gauge.backlog + gauge.to_be_retried;
        let tried = gauge.delivered_per_minute + gauge.failed_per_minute;
        let failing = if tried > 0 { gauge.failed_per_minute as f64 / tried as f64 } else { 0.0 };
        if gauge.state == IntegrationState::Disabled {
            return Self::new(
                Tone::Paused,
                Glyph::Ban,
                "Disabled",
                5,
                reason(gauge, "Changes create no jobs"),
            );
        }
        if gauge.state == IntegrationState::Paused {
            let kept =
                format!("{}. **{}** kept until it is resumed.", paused_because(gauge), jobs_are(waiting));
            return Self::new(Tone::Paused, Glyph::Pause, "Paused", if waiting > 0 { 40 } else { 10 }, kept);
        }
        if let Some(breaker) = &gauge.breaker {
            return Self::of_breaker(breaker, waiting, at);
        }
        if let Some(until) = gauge.held_until.filter(|until| *until > at) {
            let text = format!(
                "They answered 429 and asked to wait until **{}**. **{}** waiting; no attempts are used up.",
                format::clock(until, at),
                jobs_are(waiting),
            );
            return Self::new(Tone::Limited, Glyph::Gauge, "Throttled by them", 60, text);
        }
        if tried > 0 && gauge.delivered_per_minute == 0 {
            let text =
                format!("Nothing got through in the last minute: {}.{}", last_answer(gauge), remains(gauge));
            return Self::new(Tone::Failed, Glyph::Cross, "Failing", 90, text);
        }
        if failing >= 0.3 {
            let text = format!(
                "**{}** of {} attempts in the last minute failed: {}.{}",
                format::count(gauge.failed_per_minute),
                format::count(tried),
                last_answer(gauge),
                remains(gauge),
            );
            return Self::new(Tone::Failed, Glyph::Alert, "Many fail", 80, text);
        }
        if let Some(limit) =
            gauge.rate_limit.filter(|l| gauge.backlog > 0 && f64::from(l.used) >= 0.9 * f64::from(l.limit))
        {
            let text = format!(
                "Limit {} fully used. Backlog **{}**{}.",
                format::limit(limit.limit.into(), limit.per_seconds.into()),
                format::count(gauge.backlog),
                drains(gauge),
            );
            return Self::new(Tone::Limited, Glyph::Gauge, "At its limit", 50, text);
        }
        if gauge.backlog > 0 && gauge.processing >= i64::from(gauge.max_concurrency) {
            let text = format!(
                "All **{}** slots are in use. Backlog **{}**{}.",
                format::count(gauge.max_concurrency.into()),
                format::count(gauge.backlog),
                drains(gauge),
            );
            return Self::new(Tone::Processing, Glyph::Sync, "All slots busy", 35, text);
        }
        if gauge.to_be_retried > 0 {
            let text = format!(
                "**{}** for another attempt. Last failure: {}.",
                if gauge.to_be_retried == 1 {
                    "1 job waits".to_owned()
                } else {
                    format!("{} jobs wait", format::count(gauge.to_be_retried))
                },
                last_answer(gauge),
            );
            return Self::new(Tone::Retrying, Glyph::Clock, "Retrying", 30, text);
        }
        if gauge.dead_letters > 0 && gauge.backlog == 0 {
            let text = format!(
                "**{} not be tried again by {}. Last failure: {}.",
                format::counted(gauge.dead_letters, "dead letter** will", "dead letters** will"),
                if gauge.dead_letters == 1 { "itself" } else { "themselves" },
                last_answer(gauge),
            );
            return Self::new(Tone::Failed, Glyph::Skull, "Dead letters", 32, text);
        }
        if gauge.backlog > 0 || gauge.processing > 0 {
            let done = gauge
                .eta_seconds
                .map_or_else(String::new, |eta| format!(", done in about **{}**", format::eta(eta)));
            let text = format!("**{}** on the way{done}.", jobs_are(gauge.backlog + gauge.processing));
            return Self::new(Tone::Processing, Glyph::Sync, "Syncing", 15, text);
        }
        // Workers fetch jobs of external integrations; nothing is sent to those.
        if gauge.last_success_at.is_none() && gauge.integration_type != IntegrationType::External {
            let text = "Nothing was delivered yet: it gets changes from now on; a re-sync sends everything.";
            return Self::new(Tone::Waiting, Glyph::Clock, "Never synced", 1, text.to_owned());
        }
        Self::new(
            Tone::Delivered,
            Glyph::Check,
            // Not "In sync": gauges count jobs, and do not know which records the system has.
            "Caught up",
            0,
            "Nothing waits for it, and nothing fails.".to_owned(),
        )
    }

    /// What keeps the jobs waiting comes first, then why and what is next.
    fn of_breaker(breaker: &Breaker, waiting: i64, at: chrono::DateTime<chrono::Utc>) -> Self {
        let style = BreakerStyle::of(breaker);
        let since = breaker
            .since
            .map_or_else(String::new, |since| format!(" since **{}**", format::clock(since, at)));
        let why = breaker.reason.as_deref().map_or_else(String::new, |why| format!(": {}", foreign(why)));
        let next = breaker.probe_at.map_or_else(String::new, |next| {
            let time = if next > at {
                format!("at **{}**", format::clock(next, at))
            } else {
                "any moment now".to_owned()
            };
            format!(" Next probe {time}.")
        });
        let waits = format!("**{}** waiting; no attempts are used up.", jobs_are(waiting));
        let (severity, text) = match breaker.state {
            BreakerState::Open => (95, format!("Circuit open{since}{why}. {waits}{next}")),
            BreakerState::HalfOpen => (85, format!("Circuit half-open{since}{why}. {waits}")),
            BreakerState::Ramping | BreakerState::Closed => {
                let concurrency =
                    breaker.at_once.map_or_else(String::new, |n| format!(", **{n}** at once for now"));
                (
                    45,
                    format!(
                        "It works again and ramps up{since}{concurrency}. **{}** waiting.",
                        jobs_are(waiting)
                    ),
                )
            }
        };
        Self::new(style.tone, style.glyph, style.word, severity, text)
    }

    fn new(tone: Tone, glyph: Glyph, word: &'static str, severity: u8, sentence: String) -> Self {
        // A quoted answer that was cut ends the sentence with its ellipsis.
        Self { tone, glyph, word, sentence: sentence.replace("….", "…"), severity }
    }

    pub fn needs_attention(&self) -> bool {
        self.severity >= Self::ATTENTION
    }
}

fn paused_because(gauge: &IntegrationGauge) -> String {
    match gauge.state_reason.as_deref() {
        Some(reason) if !reason.is_empty() => foreign(&sentence_start(reason.trim_end_matches('.'))),
        _ => "Paused by hand".to_owned(),
    }
}

/// Reasons are written to follow a colon; this one starts a sentence.
fn sentence_start(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn reason(gauge: &IntegrationGauge, otherwise: &str) -> String {
    let text = gauge.state_reason.as_deref().filter(|reason| !reason.is_empty()).unwrap_or(otherwise);
    format!("{}.", foreign(&sentence_start(text.trim_end_matches('.'))))
}

fn jobs_are(n: i64) -> String {
    if n == 1 { "1 job is".to_owned() } else { format!("{} jobs are", format::count(n)) }
}

fn last_answer(gauge: &IntegrationGauge) -> String {
    // Answers may contain a whole document; the sentence needs its beginning.
    const MAX_CHARS: usize = 110;
    let Some(error) = &gauge.last_error else { return "no answer is on record".to_owned() };
    let line = error.message.lines().next().unwrap_or_default().trim().trim_end_matches('.');
    let shown: String = line.chars().take(MAX_CHARS).collect();
    foreign(&if shown.len() < line.len() { format!("{shown}…") } else { shown })
}

fn remains(gauge: &IntegrationGauge) -> String {
    let waiting = gauge.backlog + gauge.to_be_retried;
    if waiting == 0 { String::new() } else { format!(" **{}** waiting.", jobs_are(waiting)) }
}

fn drains(gauge: &IntegrationGauge) -> String {
    gauge.eta_seconds.map_or_else(String::new, |eta| format!(" drains in about **{}**", format::eta(eta)))
}

#[component]
pub fn HealthBadge(#[prop(into)] health: Signal<Health>) -> impl IntoView {
    view! {
        <Pill
            tone=Signal::derive(move || health.with(|h| h.tone))
            glyph=Signal::derive(move || health.with(|h| h.glyph))
            label=Signal::derive(move || health.with(|h| h.word.to_owned()))
        />
    }
    .into_any()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use chrono::{DateTime, TimeDelta, Utc};
    use model::{
        failure::FailureSummary,
        id::{AppId, IntegrationId},
        rate_limit::RateLimitUse,
        stats::{Snapshot, Totals},
        sync_status::LastError,
    };

    fn noon() -> DateTime<Utc> {
        "2026-11-20T12:00:00Z".parse().expect("a time")
    }

    pub(crate) fn idle_gauge() -> IntegrationGauge {
        IntegrationGauge {
            integration_id: IntegrationId::generate(),
            app_id: AppId::generate(),
            app_name: "Acme".to_owned(),
            name: "Warehouse".to_owned(),
            integration_type: IntegrationType::Webhook,
            state: IntegrationState::Active,
            state_reason: None,
            breaker: None,
            backlog: 0,
            processing: 0,
            max_concurrency: 50,
            to_be_retried: 0,
            dead_letters: 0,
            retry_pyramid: vec![],
            delivered_per_minute: 0,
            failed_per_minute: 0,
            accepted_per_minute: None,
            refused_share: None,
            oldest_pending_age_seconds: None,
            eta_seconds: None,
            latency: None,
            wait: None,
            rate_limit: None,
            held_until: None,
            last_success_at: Some(noon()),
            last_error: Some(LastError {
                at: noon(),
                message: "503 Service Unavailable".to_owned(),
                response_status: Some(503),
            }),
        }
    }

    pub(crate) fn snapshot_of(integrations: Vec<IntegrationGauge>) -> Snapshot {
        Snapshot {
            at: noon(),
            totals: Totals::default(),
            retry_pyramid: Vec::new(),
            integrations,
            workers: 1,
            failures: FailureSummary::default(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn the_first_rule_that_applies_wins() {
        type Change = fn(&mut IntegrationGauge);
        let cases: [(&str, Change); 13] = [
            ("Caught up", |_| ()),
            ("Never synced", |g| g.last_success_at = None),
            ("Caught up", |g| (g.last_success_at, g.integration_type) = (None, IntegrationType::External)),
            ("Syncing", |g| g.backlog = 3),
            ("Retrying", |g| g.to_be_retried = 3),
            ("Dead letters", |g| g.dead_letters = 3),
            ("All slots busy", |g| (g.backlog, g.processing) = (9, 50)),
            ("At its limit", |g| {
                g.backlog = 9;
                g.rate_limit = Some(RateLimitUse { limit: 10, used: 10, per_seconds: 1 });
            }),
            ("Many fail", |g| (g.delivered_per_minute, g.failed_per_minute) = (5, 5)),
            ("Failing", |g| g.failed_per_minute = 1),
            ("Throttled by them", |g| g.held_until = Some(noon() + TimeDelta::seconds(9))),
            ("Circuit open", |g| {
                let probe_at = Some(noon() + TimeDelta::seconds(9));
                g.breaker = Some(Breaker { state: BreakerState::Open, probe_at, ..Breaker::default() });
            }),
            ("Paused", |g| g.state = IntegrationState::Paused),
        ];
        for (word, change) in cases {
            let mut gauge = idle_gauge();
            change(&mut gauge);
            assert_eq!(Health::of(&gauge, noon()).word, word);
        }
    }

    #[test]
    fn a_fault_names_its_cause_and_what_waits() {
        let gauge = IntegrationGauge { failed_per_minute: 4, backlog: 1_204, ..idle_gauge() };
        let health = Health::of(&gauge, noon());
        assert_eq!(
            health.sentence,
            "Nothing got through in the last minute: 503 Service Unavailable. **1,204 jobs are** waiting."
        );
        assert!(health.needs_attention());
    }

    #[test]
    fn an_open_circuit_says_since_when_why_and_when_it_probes() {
        let breaker = Breaker {
            state: BreakerState::Open,
            since: Some(noon() - TimeDelta::seconds(20)),
            probe_at: Some(noon() + TimeDelta::seconds(10)),
            at_once: Some(0),
            reason: Some("20 attempts in a row failed; the last: answered 502 Bad Gateway".to_owned()),
            ..Breaker::default()
        };
        let gauge = IntegrationGauge { breaker: Some(breaker), backlog: 7, ..idle_gauge() };
        let health = Health::of(&gauge, noon());
        assert_eq!(
            health.sentence,
            "Circuit open since **11:59:40**: 20 attempts in a row failed; the last: answered 502 Bad Gateway. **7 jobs are** waiting; \
             no attempts are used up. Next probe at **12:00:10**."
        );
        assert!(health.needs_attention());
    }

    #[test]
    fn a_long_answer_is_cut_and_one_dead_letter_is_one() {
        let mut gauge = IntegrationGauge { dead_letters: 1, ..idle_gauge() };
        gauge.last_error = Some(LastError { at: noon(), message: "x".repeat(500), response_status: None });
        let sentence = Health::of(&gauge, noon()).sentence;
        assert!(sentence.starts_with("**1 dead letter** will not be tried again by itself."), "{sentence}");
        assert!(sentence.ends_with("x…"), "{sentence}");
    }

    #[test]
    fn being_caught_up_needs_no_attention() {
        assert!(!Health::of(&idle_gauge(), noon()).needs_attention());
    }
}
