//! Colour, icon and word for each state of a circuit breaker.

use crate::ui::{Glyph, Pill, Tone};
use leptos::prelude::*;
use model::breaker::{Breaker, BreakerState};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerStyle {
    pub tone: Tone,
    pub glyph: Glyph,
    pub word: &'static str,
}

impl BreakerStyle {
    pub const fn of(breaker: &Breaker) -> Self {
        let (tone, glyph, word) = match breaker.state {
            BreakerState::Closed => (Tone::Delivered, Glyph::Check, "Breaker closed"),
            BreakerState::Open if breaker.held_until.is_some() => (Tone::Paused, Glyph::Hand, "Held open"),
            BreakerState::Open => (Tone::Failed, Glyph::Switch, "Breaker open"),
            BreakerState::HalfOpen => (Tone::Retrying, Glyph::Search, "Probing"),
            BreakerState::Ramping => (Tone::Processing, Glyph::Sync, "Ramping up"),
        };
        Self { tone, glyph, word }
    }
}

#[component]
pub fn BreakerBadge(#[prop(into)] breaker_style: Signal<BreakerStyle>) -> impl IntoView {
    view! {
        <Pill
            tone=Signal::derive(move || breaker_style.get().tone)
            glyph=Signal::derive(move || breaker_style.get().glyph)
            label=Signal::derive(move || breaker_style.get().word.to_owned())
        />
    }
    .into_any()
}
