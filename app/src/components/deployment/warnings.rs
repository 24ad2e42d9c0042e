//! What is wrong with the deployment itself, such as a transaction that keeps dead rows, or a service that fails. Shown above
//! integrations.

use crate::ui::{Glyph, Pill, Tone};
use leptos::prelude::*;
use model::stats::{Snapshot, Warning};

/// A line each, worst first; nothing while all is well.
#[component]
pub fn Warnings(#[prop(into)] snapshot: Signal<Snapshot>) -> impl IntoView {
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
        "old_transaction" => "Long-running transaction",
        "counts_drift" => "Counters were wrong",
        "service_failing" => "Maintenance is failing",
        "partitions_missing" => "Day partitions are missing",
        "not_owner" => "The tables have another owner",
        // A code of a newer version, during a rolling upgrade.
        _ => "Something is wrong",
    }
}
