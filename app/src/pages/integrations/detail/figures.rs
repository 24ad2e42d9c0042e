//! The numbers of an integration, each linked to exactly what it counts. No list has the records in sync.

use crate::format;
use crate::state::counted::Counted;
use crate::ui::{OptionalLink, ProgressBar, Sparkline, Tone};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::{id::IntegrationId, stats::IntegrationGauge};

#[component]
pub fn Figures(
    id: IntegrationId,
    gauge: Memo<IntegrationGauge>,
    /// When the gauge was read.
    gauge_at: Memo<DateTime<Utc>>,
    /// The backlog over the last hour.
    backlogs: Vec<i64>,
    /// How many records are in sync, and how many there are; `None` where nothing is sent.
    records: Option<(i64, i64)>,
) -> impl IntoView {
    let number = move |read: fn(&IntegrationGauge) -> i64| Signal::derive(move || gauge.with(read));
    let says = move |read: fn(&IntegrationGauge) -> String| Signal::derive(move || gauge.with(read));
    let dead = number(|g| g.dead_letters);
    let list = move |counted: Counted| counted.list(Some(id));
    let delivered = Signal::derive(move || list(Counted::Delivered(gauge_at.get())));
    let sparks = Signal::stored(backlogs.into_iter().map(|n| Some(n as f64)).collect::<Vec<_>>());
    view! {
        <section class="tiles" aria-label="Now">
            <Figure tone=Tone::Waiting label="Backlog" value=number(|g| g.backlog) says=says(clears_in) href=list(Counted::Backlog)>
                <Sparkline values=sparks label=Signal::stored("Backlog over the last hour".to_owned()) />
            </Figure>
            <Figure tone=Tone::Processing label="Processing" value=number(|g| g.processing) says=says(|g| format!("at most {} at once", format::count(g.max_concurrency.into()))) href=list(Counted::Processing) />
            <Figure tone=Tone::Delivered label="Delivered / min" value=number(|g| g.delivered_per_minute) says=says(failed) href=delivered />
            <Figure tone=Tone::Retrying label="To be retried" value=number(|g| g.to_be_retried) says=Signal::stored(String::new()) href=list(Counted::ToBeRetried) />
            <Figure tone=Tone::Failed label="Dead letters" value=dead says=Signal::stored(String::new()) href=list(Counted::DeadLetters) />
            {records
                .map(|(in_sync, total)| {
                    view! {
                        <Figure
                            tone=Tone::Delivered
                            label="Records in sync"
                            value=Signal::stored(in_sync)
                            says=Signal::stored(format!("of {}", format::count(total)))
                        >
                            <ProgressBar
                                label="Records in sync"
                                share=share(in_sync, total)
                                tone=Tone::Delivered
                            />
                        </Figure>
                    }
                })}
        </section>
    }
    .into_any()
}

fn clears_in(gauge: &IntegrationGauge) -> String {
    match gauge.eta_seconds {
        _ if gauge.backlog == 0 => String::new(),
        Some(eta) => format!("clears in about {}", format::eta(eta)),
        None => String::new(),
    }
}

fn failed(gauge: &IntegrationGauge) -> String {
    match gauge.failed_per_minute {
        0 => "no failed attempts".to_owned(),
        n => format::counted(n, "failed attempt", "failed attempts"),
    }
}

fn share(part: i64, whole: i64) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

/// A tile without a chart: a number, and a few words about it.
#[component]
fn Figure(
    tone: Tone,
    label: &'static str,
    value: Signal<i64>,
    says: Signal<String>,
    /// Empty for no link.
    #[prop(optional, into)]
    href: Signal<String>,
    #[prop(optional)] children: Option<Children>,
) -> impl IntoView {
    view! {
        <OptionalLink href=href class=format!("card tile {}", tone.class())>
            <span class="label">
                <i></i>
                {label}
            </span>
            <span class="figure type-figure">{move || format::count(value.get())}</span>
            <span class="delta">{move || says.get()}</span>
            {children.map(|children| children())}
        </OptionalLink>
    }
    .into_any()
}
