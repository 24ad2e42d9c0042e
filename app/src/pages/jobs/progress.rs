//! How far a running job is, as its handler reports.

use crate::format;
use crate::state::clock;
use crate::ui::{Ago, Card, ProgressBar, Tone};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::job::Progress;

/// A bar if the total is known, and the handler's note.
#[component]
pub fn JobProgress(
    /// The last report.
    progress: Progress,
    /// When the page was loaded.
    as_of: DateTime<Utc>,
) -> impl IntoView {
    let bar = progress.share().map(|share| {
        view! { <ProgressBar label="Progress of this attempt" share=share tone=Tone::Processing /> }
    });
    view! {
        <Card title="Progress" sub=in_words(&progress)>
            {bar}
            <p class="mt-2 type-label text-muted">
                {progress.note.map(|note| view! { <span class="text-ink">{note}</span> " · " })}
                "reported "
                <Ago at=progress.at now=clock::now_or(as_of) />
            </p>
        </Card>
    }
    .into_any()
}

/// `1,200 of 5,000 (24 %)`
fn in_words(progress: &Progress) -> String {
    let done = format::count(progress.done);
    match (progress.total, progress.share()) {
        (Some(total), Some(share)) => {
            format!("{done} of {} ({})", format::count(total), format::percent(share))
        }
        _ => format!("{done} so far"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_shown_when_the_total_is_known() {
        let said = |done, total| in_words(&Progress { done, total, note: None, at: DateTime::UNIX_EPOCH });
        assert!(said(1_200, Some(5_000)).starts_with("1,200 of 5,000 (24"), "{}", said(1_200, Some(5_000)));
        assert_eq!(said(1_200, None), "1,200 so far");
    }
}
