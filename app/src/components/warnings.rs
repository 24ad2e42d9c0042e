//! What is wrong with the deployment itself: a transaction that keeps dead rows, a service that fails. Above what is wrong with integrations.

use crate::ui::{Glyph, Pill, Tone};
use leptos::prelude::*;
use model::stats::{Snapshot, Warning};

/// A line each, worst first; nothing while all is well.
#[component]
pub fn Warnings(
    /// The snapshot that tells of them.
    #[prop(into)]
    snapshot: Signal<Snapshot>,
) -> impl IntoView {
    let warnings = Memo::new(move |_| snapshot.with(|s| s.warnings.clone()));
    view! {
        <For
            each=move || warnings.get()
            key=|warning| (warning.code.clone(), warning.message.clone())
            children=|warning| view! { <Line warning=warning /> }
        />
    }
    .into_any()
}

#[component]
fn Line(warning: Warning) -> impl IntoView {
    view! {
        <div class="att">
            <div class="who">
                {title(&warning.code)}
                <Pill tone=Signal::stored(Tone::Failed) glyph=Signal::stored(Glyph::Alert) label=Signal::stored("Deployment".to_owned()) />
            </div>
            <p class="why">{warning.message}</p>
        </div>
    }
    .into_any()
}

fn title(code: &str) -> &'static str {
    match code {
        "old_transaction" => "A transaction is open for long",
        "counts_drift" => "Counters were wrong",
        "service_failing" => "Maintenance fails",
        "partitions_missing" => "Day partitions are missing",
        "not_owner" => "The tables belong to someone else",
        // Of a newer process of a rolling upgrade.
        _ => "Something is wrong",
    }
}
