//! What stood where over time: pending, being processed, waiting for another attempt.

use super::windows::{self, over_time};
use crate::ui::{Card, ChartData, ChartForm, ChartMark, ChartSeries, TimeChart, Tone, legend};
use leptos::prelude::*;
use model::stats::Levels;

/// The chart in its card, with the legend.
#[component]
pub fn LevelsChart(
    /// The numbers.
    #[prop(into)]
    levels: Signal<Levels>,
    /// What happened meanwhile.
    #[prop(optional, into)]
    marks: Signal<Vec<ChartMark>>,
    /// Ends at a moment that is over.
    #[prop(optional)]
    is_past: bool,
) -> impl IntoView {
    let data = Memo::new(move |_| ChartData { marks: marks.get(), is_past, ..levels.with(chart) });
    let series = vec![
        ChartSeries::new("processing", Tone::Processing),
        ChartSeries::new("pending", Tone::Waiting),
        ChartSeries::new("to be retried", Tone::Retrying),
    ];
    let sub = Signal::derive(move || {
        format!("the most of each {}", windows::step(levels.with(|l| l.step_seconds)))
    });
    view! {
        <Card title="Backlog" sub=sub aside=legend(&series, None)>
            <TimeChart label="Jobs that were not done, over time" series=series data=data form=ChartForm::Areas />
        </Card>
    }
    .into_any()
}

fn chart(levels: &Levels) -> ChartData {
    over_time(levels.step_seconds, &levels.buckets, |bucket| {
        (bucket.at, vec![bucket.processing, bucket.backlog, bucket.to_be_retried])
    })
}
