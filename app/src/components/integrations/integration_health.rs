//! How an integration is doing: a word, a colour and a sentence with the number that matters. The judgement is `model::rules::health`.

use super::health_sentence::sentence;
use crate::components::BreakerStyle;
use crate::ui::{Glyph, Pill, Tone};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::breaker::Breaker;
use model::rules::health::{Health, HealthKind};
use model::stats::IntegrationGauge;
use std::cmp::Ordering;

/// A [`Health`] as the console shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthText {
    pub health: Health,
    pub tone: Tone,
    pub glyph: Glyph,
    pub word: &'static str,
    /// What is wrong and what follows, with `**strong**` where it matters.
    pub sentence: String,
}

impl HealthText {
    /// Of one integration at the moment of its gauges.
    pub fn of(gauge: &IntegrationGauge, at: DateTime<Utc>) -> Self {
        let health = Health::of(gauge, at);
        let closed = Breaker::default();
        let breaker = gauge.breaker.as_ref().unwrap_or(&closed);
        let (tone, glyph, word) = style(health.kind, breaker);
        // A quoted answer that was cut ends the sentence with its ellipsis.
        let sentence = sentence(health.kind, gauge, breaker, at).replace("….", "…");
        Self { health, tone, glyph, word, sentence }
    }

    pub fn worst_first(a: &Judged, b: &Judged) -> Ordering {
        Health::worst_first((a.0.health, &a.1), (b.0.health, &b.1))
    }
}

/// An integration with its health.
pub type Judged = (HealthText, IntegrationGauge);

/// The row of one integration in a list. It stays while its numbers change, so nothing moves under the pointer.
pub fn row_of(rows: Memo<Vec<Judged>>, first: Judged) -> Memo<Judged> {
    let id = first.1.integration_id;
    Memo::new(move |last: Option<&Judged>| {
        rows.with(|rows| rows.iter().find(|(_, gauge)| gauge.integration_id == id).cloned())
            .or_else(|| last.cloned())
            .unwrap_or_else(|| first.clone())
    })
}

fn style(kind: HealthKind, breaker: &Breaker) -> (Tone, Glyph, &'static str) {
    match kind {
        HealthKind::Disabled => (Tone::Paused, Glyph::Ban, "Disabled"),
        HealthKind::Paused => (Tone::Paused, Glyph::Pause, "Paused"),
        HealthKind::Breaker(_) => {
            let style = BreakerStyle::of(breaker);
            (style.tone, style.glyph, style.word)
        }
        HealthKind::Throttled => (Tone::Limited, Glyph::Gauge, "Throttled by them"),
        HealthKind::Failing => (Tone::Failed, Glyph::Cross, "Failing"),
        HealthKind::ManyFail => (Tone::Failed, Glyph::Alert, "High failure rate"),
        HealthKind::AtLimit => (Tone::Limited, Glyph::Gauge, "At its limit"),
        HealthKind::AllSlotsBusy => (Tone::Processing, Glyph::Sync, "All slots busy"),
        HealthKind::Retrying => (Tone::Retrying, Glyph::Clock, "Retrying"),
        HealthKind::DeadLetters => (Tone::Failed, Glyph::Skull, "Dead letters"),
        HealthKind::Syncing => (Tone::Processing, Glyph::Sync, "Syncing"),
        HealthKind::NeverSynced => (Tone::Waiting, Glyph::Clock, "Never synced"),
        HealthKind::CaughtUp => (Tone::Delivered, Glyph::Check, "Caught up"),
    }
}

#[component]
pub fn HealthBadge(#[prop(into)] health: Signal<HealthText>) -> impl IntoView {
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
mod tests {
    use super::*;
    use chrono::TimeDelta;
    use model::breaker::BreakerState;
    use model::fixtures::{idle_gauge, noon};
    use model::integration::{IntegrationState, IntegrationType};
    use model::rate_limit::RateLimitUse;
    use model::sync_status::LastError;

    #[test]
    fn each_judgement_has_its_word() {
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
            ("High failure rate", |g| (g.delivered_per_minute, g.failed_per_minute) = (5, 5)),
            ("Failing", |g| g.failed_per_minute = 1),
            ("Throttled by them", |g| g.held_until = Some(noon() + TimeDelta::seconds(9))),
            ("Breaker open", |g| {
                let probe_at = Some(noon() + TimeDelta::seconds(9));
                g.breaker = Some(Breaker { state: BreakerState::Open, probe_at, ..Breaker::default() });
            }),
            ("Paused", |g| g.state = IntegrationState::Paused),
        ];
        for (word, change) in cases {
            let mut gauge = idle_gauge();
            change(&mut gauge);
            assert_eq!(HealthText::of(&gauge, noon()).word, word);
        }
    }

    #[test]
    fn a_fault_names_its_cause_and_what_waits() {
        let gauge = IntegrationGauge { failed_per_minute: 4, backlog: 1_204, ..idle_gauge() };
        let health = HealthText::of(&gauge, noon());
        assert_eq!(
            health.sentence,
            "Nothing got through in the last minute: 503 Service Unavailable. **1,204 jobs are** waiting."
        );
        assert!(health.health.needs_attention());
    }

    #[test]
    fn an_open_circuit_says_since_when_why_and_when_it_probes() {
        let breaker = Breaker {
            state: BreakerState::Open,
            since: Some(noon() - TimeDelta::seconds(20)),
            probe_at: Some(noon() + TimeDelta::seconds(10)),
            at_once: Some(0),
            reason: Some("20 attempts in a row failed; the last: 502 Bad Gateway".to_owned()),
            ..Breaker::default()
        };
        let gauge = IntegrationGauge { breaker: Some(breaker), backlog: 7, ..idle_gauge() };
        let health = HealthText::of(&gauge, noon());
        assert_eq!(
            health.sentence,
            "Breaker open since **11:59:40**: 20 attempts in a row failed; the last: 502 Bad Gateway. **7 jobs are** waiting; \
             no attempts are used up. Next probe at **12:00:10**."
        );
        assert!(health.health.needs_attention());
    }

    #[test]
    fn a_long_answer_is_cut_and_one_dead_letter_is_one() {
        let mut gauge = IntegrationGauge { dead_letters: 1, ..idle_gauge() };
        gauge.last_error = Some(LastError { at: noon(), message: "x".repeat(500), response_status: None });
        let sentence = HealthText::of(&gauge, noon()).sentence;
        assert!(sentence.starts_with("**1 dead letter** will not be tried again by itself."), "{sentence}");
        assert!(sentence.ends_with("x…"), "{sentence}");
        let body = r#"answered 400 Bad Request: {"errors":{"title":["can't be blank"]},"trace":"9f86"}"#;
        gauge.last_error =
            Some(LastError { at: noon(), message: body.to_owned(), response_status: Some(400) });
        let sentence = HealthText::of(&gauge, noon()).sentence;
        assert!(sentence.ends_with("Last failure: 400 Bad Request: title can't be blank."), "{sentence}");
    }
}
