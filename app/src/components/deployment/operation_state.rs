//! The state of a bulk operation as a pill, and its progress as a bar.

use super::operation_words::progress_in_words;
use crate::ui::{Glyph, Pill, ProgressBar, Tone};
use leptos::prelude::*;
use model::operation::{Operation, OperationState};

fn style(state: OperationState) -> (Tone, Glyph, &'static str) {
    match state {
        OperationState::Held => (Tone::Waiting, Glyph::Clock, "Not started"),
        OperationState::Running => (Tone::Processing, Glyph::Sync, "Running"),
        OperationState::Paused => (Tone::Paused, Glyph::Pause, "Paused"),
        OperationState::Done => (Tone::Delivered, Glyph::Check, "Done"),
        OperationState::Aborted => (Tone::Paused, Glyph::Ban, "Aborted"),
        OperationState::Undone => (Tone::Paused, Glyph::Undo, "Undone"),
    }
}

/// The state as a pill.
#[component]
pub fn OperationBadge(
    /// A signal, so that a live row changes in place.
    #[prop(into)]
    state: Signal<OperationState>,
) -> impl IntoView {
    view! {
        <Pill
            tone=Signal::derive(move || style(state.get()).0)
            glyph=Signal::derive(move || style(state.get()).1)
            label=Signal::derive(move || style(state.get()).2.to_owned())
        />
    }
    .into_any()
}

/// `1,240 of 3,000 · 12 skipped · about 88 s left`, under a bar.
#[component]
pub fn OperationProgress(
    /// A signal, so that the bar moves in place.
    #[prop(into)]
    operation: Signal<Operation>,
) -> impl IntoView {
    let share = move || operation.with(|o| o.handled() as f64 / o.matched.max(1) as f64);
    view! {
        <div class="min-w-[180px]">
            <ProgressBar
                label="Progress"
                share=Signal::derive(share)
                tone=Signal::derive(move || operation.with(|o| style(o.state).0))
            />
            <p class="type-label text-faint tabular-nums mt-1">{move || operation.with(progress_in_words)}</p>
        </div>
    }
    .into_any()
}
