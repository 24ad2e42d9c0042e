//! What was delivered and what failed, over time.

use crate::ui::{Card, ChartBucket, ChartData, ChartSeries, TimeChart, Tone};
use chrono::TimeDelta;
use leptos::prelude::*;
use model::stats::{Throughput, ThroughputBucket, Window};

/// The chart in its card, with the legend.
#[component]
pub fn ThroughputChart(
    /// The numbers.
    #[prop(into)]
    throughput: Signal<Throughput>,
    /// How far back, for the words.
    #[prop(into)]
    window: Signal<Window>,
) -> impl IntoView {
    let data = Memo::new(move |_| throughput.with(chart));
    let series = vec![
        ChartSeries { label: "delivered", tone: Tone::Delivered },
        ChartSeries { label: "unchanged", tone: Tone::Waiting },
        ChartSeries { label: "failed attempts", tone: Tone::Failed },
    ];
    let legend = series.clone();
    let aside = move || {
        let items = legend
            .iter()
            .map(|s| {
                view! {
                    <span class=s.tone.class()>
                        <i></i>
                        {s.label}
                    </span>
                }
            })
            .collect_view();
        view! { <span class="legend ml-auto">{items}</span> }
    };
    view! {
        <Card title="Delivered and failed" sub=Signal::derive(move || step_in_words(window.get())) aside=aside>
            <TimeChart label="Delivered and failed attempts over time" series=series data=data />
        </Card>
    }
    .into_any()
}

fn step_in_words(window: Window) -> String {
    match window {
        Window::Hour => "per minute",
        Window::Day => "per 15 minutes",
        Window::Week => "per 2 hours",
    }
    .to_owned()
}

fn chart(throughput: &Throughput) -> ChartData {
    over_time(throughput, |bucket| {
        vec![bucket.completed as f64, bucket.unchanged as f64, (bucket.retried + bucket.dead) as f64]
    })
}

/// A window's buckets, each with its time and its bars; the last one is not over.
pub(super) fn over_time(throughput: &Throughput, bars: impl Fn(&ThroughputBucket) -> Vec<f64>) -> ChartData {
    let last = throughput.buckets.len().saturating_sub(1);
    let is_long = TimeDelta::seconds(throughput.step_seconds.into()) * i32::try_from(last).unwrap_or(0)
        > TimeDelta::hours(36);
    let buckets = throughput
        .buckets
        .iter()
        .enumerate()
        .map(|(at, bucket)| ChartBucket {
            label: bucket.at.format(if is_long { "%a %H:%M" } else { "%H:%M" }).to_string(),
            values: bars(bucket),
            is_partial: at == last,
        })
        .collect();
    ChartData { buckets, marks: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_attempts_are_those_tried_again_and_those_given_up() {
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
        assert_eq!(data.buckets[0].values, [5.0, 2.0, 4.0]);
        assert_eq!(data.buckets[0].label, "14:00");
        assert!(data.buckets[0].is_partial, "the last bucket is not over");
    }
}
