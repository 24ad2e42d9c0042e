//! How many jobs were pending, being processed and to be retried, over time.

use super::windows::{self, over_time};
use crate::ui::{Card, ChartData, ChartForm, ChartMark, ChartSeries, TimeChart, Tone, legend};
use leptos::prelude::*;
use model::stats::Levels;

/// The chart in its card.
#[component]
pub fn LevelsChart(
    #[prop(into)] levels: Signal<Levels>,
    /// Activity in the same window.
    #[prop(optional, into)]
    marks: Signal<Vec<ChartMark>>,
    /// The window ends in the past.
    #[prop(optional)]
    is_past: bool,
) -> impl IntoView {
    let data = Memo::new(move |_| ChartData { marks: marks.get(), is_past, ..levels.with(chart) });
    let series = vec![
        ChartSeries::new("processing", Tone::Processing),
        ChartSeries::new("pending", Tone::Waiting),
        ChartSeries::new("to be retried", Tone::Retrying),
    ];
    let sub = Signal::derive(move || format!("peak per {}", windows::step(levels.with(|l| l.step_seconds))));
    view! {
        <Card title="Backlog" sub=sub aside=legend(&series, None)>
            <TimeChart label="Backlog over time" series=series data=data form=ChartForm::Areas />
        </Card>
    }
    .into_any()
}

fn chart(levels: &Levels) -> ChartData {
    over_time(levels.step_seconds, &levels.buckets, |bucket| {
        (bucket.at, vec![bucket.processing, bucket.backlog, bucket.to_be_retried])
    })
}
