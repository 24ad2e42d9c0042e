//! What a circuit breaker's state looks like: one table for pills, lists and panels.

use crate::ui::{Glyph, Pill, Tone};
use leptos::prelude::*;
use model::breaker::{Breaker, BreakerState};

/// Colour, icon and word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerLook {
    /// Colour family.
    pub tone: Tone,
    /// Icon.
    pub glyph: Glyph,
    /// A word or two.
    pub word: &'static str,
}

impl BreakerLook {
    /// Looks one up.
    pub const fn of(breaker: &Breaker) -> Self {
        let (tone, glyph, word) = match breaker.state {
            BreakerState::Closed => (Tone::Delivered, Glyph::Check, "Circuit closed"),
            BreakerState::Open if breaker.held_until.is_some() => (Tone::Paused, Glyph::Hand, "Held open"),
            BreakerState::Open => (Tone::Failed, Glyph::Switch, "Circuit open"),
            BreakerState::HalfOpen => (Tone::Retrying, Glyph::Search, "Probing"),
            BreakerState::Ramping => (Tone::Processing, Glyph::Sync, "Ramping up"),
        };
        Self { tone, glyph, word }
    }
}

/// The state as a pill.
#[component]
pub fn BreakerBadge(
    /// The look.
    #[prop(into)]
    look: Signal<BreakerLook>,
) -> impl IntoView {
    view! {
        <Pill
            tone=Signal::derive(move || look.get().tone)
            glyph=Signal::derive(move || look.get().glyph)
            label=Signal::derive(move || look.get().word.to_owned())
        />
    }
    .into_any()
}
