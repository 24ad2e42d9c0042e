//! How long attempts of an integration take, and how long its jobs wait before their first one.

use crate::components::integrations::windows::over_time;
use crate::format;
use crate::ui::{Card, ChartData, ChartForm, ChartSeries, ChartUnit, Fact, Facts, Stroke, TimeChart, Tone};
use leptos::prelude::*;
use model::{histogram::Percentiles, stats::Throughput};

/// Percentiles of the window in words, and over time as lines.
#[component]
pub fn LatencyCard(#[prop(into)] throughput: Signal<Throughput>) -> impl IntoView {
    let data = Memo::new(move |_| throughput.with(chart));
    let series = vec![
        ChartSeries::new("p50", Tone::Processing),
        ChartSeries::new("p95", Tone::Retrying).stroke(Stroke::Dashed),
        ChartSeries::new("p99", Tone::Failed).stroke(Stroke::Dotted),
    ];
    view! {
        <Card title="Latency" sub=Signal::stored("estimated, within 10 %".to_owned())>
            <Facts>
                <Fact name="Attempt">{move || throughput.with(|t| in_words(t.latency))}</Fact>
                <Fact name="Wait before first attempt">{move || throughput.with(|t| in_words(t.wait))}</Fact>
            </Facts>
            <TimeChart
                label="Attempt duration over time: p50, p95 and p99"
                series=series
                data=data
                form=ChartForm::Lines
                unit=ChartUnit::Milliseconds
            />
        </Card>
    }
    .into_any()
}

fn in_words(percentiles: Option<Percentiles>) -> String {
    percentiles.map_or_else(
        || "no data yet".to_owned(),
        |p| {
            format!(
                "p50 {} · p95 {} · p99 {}",
                format::milliseconds(p.p50_ms),
                format::milliseconds(p.p95_ms),
                format::milliseconds(p.p99_ms)
            )
        },
    )
}

fn chart(throughput: &Throughput) -> ChartData {
    over_time(throughput.step_seconds, &throughput.buckets, |bucket| {
        let value = |read: fn(Percentiles) -> i64| bucket.latency.map(read);
        (bucket.at, vec![value(|p| p.p50_ms), value(|p| p.p95_ms), value(|p| p.p99_ms)])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_read_as_durations_and_none_says_so() {
        let percentiles = Percentiles { count: 7, p50_ms: 70, p95_ms: 1_500, p99_ms: 61_000 };
        let words = in_words(Some(percentiles));
        assert!(words.starts_with("p50 70 ms · p95 "), "{words}");
        assert_eq!(in_words(None), "no data yet");
    }
}
