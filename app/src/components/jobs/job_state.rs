//! The one table of job states: colour, icon and word for badges, chips and charts.

use crate::ui::{Glyph, Pill, Tone};
use leptos::prelude::*;
use model::job::JobStatus;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobStateStyle {
    pub tone: Tone,
    pub glyph: Glyph,
    pub word: &'static str,
}

impl JobStateStyle {
    pub const fn of(status: JobStatus) -> Self {
        let (tone, glyph, word) = match status {
            JobStatus::Pending => (Tone::Waiting, Glyph::Clock, "Pending"),
            JobStatus::Processing => (Tone::Processing, Glyph::Sync, "Processing"),
            JobStatus::ToBeRetried => (Tone::Retrying, Glyph::Clock, "To be retried"),
            JobStatus::Retrying => (Tone::Retrying, Glyph::Sync, "Retrying"),
            JobStatus::Completed => (Tone::Delivered, Glyph::Check, "Completed"),
            JobStatus::Failed => (Tone::Failed, Glyph::Skull, "Failed"),
            JobStatus::Cancelled => (Tone::Paused, Glyph::Ban, "Cancelled"),
        };
        Self { tone, glyph, word }
    }
}

/// The state as a pill.
#[component]
pub fn JobStateBadge(
    /// A signal, so that a live row changes in place.
    #[prop(into)]
    status: Signal<JobStatus>,
) -> impl IntoView {
    let style = Signal::derive(move || JobStateStyle::of(status.get()));
    view! {
        <Pill
            tone=Signal::derive(move || style.get().tone)
            glyph=Signal::derive(move || style.get().glyph)
            label=Signal::derive(move || style.get().word.to_owned())
        />
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_states_look_the_same() {
        for (at, one) in JobStatus::ALL.iter().copied().enumerate() {
            for other in JobStatus::ALL.iter().copied().skip(at + 1) {
                assert_ne!(JobStateStyle::of(one), JobStateStyle::of(other));
            }
        }
    }
}
