//! The state of a re-sync as a pill, and as a bar with the numbers in words.

use crate::format;
use crate::ui::{Glyph, Pill, ProgressBar, Tone};
use leptos::prelude::*;
use model::resync::{Resync, ResyncState};

fn style(resync: &Resync) -> (Tone, Glyph, &'static str) {
    match resync.state {
        ResyncState::Running => (Tone::Processing, Glyph::Sync, "Running"),
        ResyncState::Paused => (Tone::Paused, Glyph::Pause, "Paused"),
        ResyncState::Completed if resync.failed > 0 => {
            (Tone::Retrying, Glyph::Alert, "Completed with failures")
        }
        ResyncState::Completed => (Tone::Delivered, Glyph::Check, "Completed"),
        ResyncState::Cancelled => (Tone::Paused, Glyph::Ban, "Cancelled"),
    }
}

/// The state as a pill.
#[component]
pub fn ResyncBadge(
    /// The re-sync.
    resync: Resync,
) -> impl IntoView {
    let (tone, glyph, word) = style(&resync);
    view! { <Pill tone=tone glyph=glyph label=word /> }
}

/// `3,020 of 4,260 · 12 failed · about 9 min left`, under a bar.
#[component]
pub fn ResyncProgress(
    /// The re-sync.
    resync: Resync,
) -> impl IntoView {
    let (tone, _, _) = style(&resync);
    let share = (resync.done + resync.failed) as f64 / resync.total.max(1) as f64;
    view! {
        <div class="min-w-[180px]">
            <ProgressBar label="Progress" share=share tone=tone />
            <p class="type-label text-faint tabular-nums mt-1">{in_words(&resync)}</p>
        </div>
    }
    .into_any()
}

fn in_words(resync: &Resync) -> String {
    let mut parts = vec![format!("{} of {}", format::count(resync.done), format::count(resync.total))];
    if resync.failed > 0 {
        parts.push(format!("{} failed", format::count(resync.failed)));
    }
    if let Some(eta) = resync.eta_seconds.filter(|_| resync.state == ResyncState::Running) {
        parts.push(format!("about {} left", format::eta(eta)));
    }
    parts.join(" · ")
}
