//! What was delivered and what failed, over time.

use super::windows::{self, over_time};
use crate::ui::{Card, ChartData, ChartMark, ChartSeries, TimeChart, Tone, legend};
use leptos::prelude::*;
use model::stats::Throughput;

/// The chart in its card.
#[component]
pub fn ThroughputChart(
    #[prop(into)] throughput: Signal<Throughput>,
    /// Activity in the same window.
    #[prop(optional, into)]
    marks: Signal<Vec<ChartMark>>,
    /// The window ends in the past.
    #[prop(optional)]
    is_past: bool,
) -> impl IntoView {
    let data = Memo::new(move |_| ChartData { marks: marks.get(), is_past, ..throughput.with(chart) });
    let series = vec![
        ChartSeries::new("delivered", Tone::Delivered),
        ChartSeries::new("unchanged", Tone::Waiting),
        ChartSeries::new("failed attempts", Tone::Failed),
    ];
    let sub = Signal::derive(move || format!("per {}", windows::step(throughput.with(|t| t.step_seconds))));
    view! {
        <Card title="Delivered and failed" sub=sub aside=legend(&series, None)>
            <TimeChart label="Delivered and failed attempts over time" series=series data=data />
        </Card>
    }
    .into_any()
}

fn chart(throughput: &Throughput) -> ChartData {
    over_time(throughput.step_seconds, &throughput.buckets, |bucket| {
        let failed = bucket.retried + bucket.dead;
        (bucket.at, vec![Some(bucket.completed), Some(bucket.unchanged), Some(failed)])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::stats::ThroughputBucket;

    #[test]
    fn failed_attempts_are_retried_ones_and_dead_letters() {
        let at = "2026-11-20T14:00:00Z".parse().expect("a time");
        let bucket = ThroughputBucket {
            at,
            completed: 5,
            unchanged: 2,
            retried: 3,
            dead: 1,
            cancelled: 9,
            limited: 1,
            latency: None,
            wait: None,
        };
        let data = chart(&Throughput { step_seconds: 60, buckets: vec![bucket], latency: None, wait: None });
        assert_eq!(data.buckets[0].values, [Some(5), Some(2), Some(4)]);
        assert_eq!(data.buckets[0].label, "14:00");
        assert!(data.buckets[0].is_partial, "the last bucket is not over");
    }
}
