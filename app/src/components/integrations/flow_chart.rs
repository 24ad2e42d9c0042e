//! What comes in for an integration against what goes out.

use super::windows::over_time;
use crate::ui::{Card, ChartBucket, ChartData, ChartForm, ChartSeries, Stroke, TimeChart, Tone, legend};
use chrono::TimeDelta;
use leptos::prelude::*;
use model::stats::FlowMinute;

const MINUTES: i32 = 60;

/// The chart in its card.
#[component]
pub fn FlowChart(
    /// One entry a minute, oldest first.
    #[prop(into)]
    flow: Signal<Vec<FlowMinute>>,
) -> impl IntoView {
    let data = Memo::new(move |_| flow.with(|flow| chart(flow)));
    let is_empty = Memo::new(move |_| flow.with(Vec::is_empty));
    let series = vec![
        ChartSeries::new("accepted", Tone::Processing),
        ChartSeries::new("delivered", Tone::Delivered).stroke(Stroke::Dashed),
        ChartSeries::new("failed attempts", Tone::Failed).stroke(Stroke::Dotted),
    ];
    view! {
        <Card title="In and out" sub=Signal::stored("per minute, the last hour".to_owned()) aside=legend(&series, None)>
            <TimeChart
                label="Jobs accepted, delivered and failed in each minute of the last hour"
                series=series
                data=data
                form=ChartForm::Lines
            />
            {move || {
                is_empty
                    .get()
                    .then(|| {
                        view! { <p class="px-4 pb-3 text-muted">"No data yet. The first minute appears when it is complete."</p> }
                    })
            }}
        </Card>
    }
    .into_any()
}

/// The hour up to the last minute on record; minutes without a record are gaps.
fn chart(flow: &[FlowMinute]) -> ChartData {
    let Some(last) = flow.last() else { return ChartData::default() };
    let hour: Vec<_> = (0..MINUTES).rev().map(|back| last.at - TimeDelta::minutes(back.into())).collect();
    let data = over_time(60, &hour, |at| {
        let minute = flow.iter().find(|minute| minute.at == *at);
        let accepted = minute.and_then(|minute| minute.accepted);
        (*at, vec![accepted, minute.map(|minute| minute.delivered), minute.map(|minute| minute.failed)])
    });
    // Minutes are recorded when they are over.
    let buckets = data.buckets.into_iter().map(|bucket| ChartBucket { is_partial: false, ..bucket });
    ChartData { buckets: buckets.collect(), ..data }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;

    #[test]
    fn an_hour_is_drawn_and_minutes_without_a_record_are_gaps() {
        let at = |minute: i64| DateTime::UNIX_EPOCH + TimeDelta::minutes(minute);
        let minute = |n, accepted| FlowMinute { at: at(n), accepted, delivered: 2, failed: 1 };
        let data = chart(&[minute(100, None), minute(102, Some(7))]);
        assert_eq!((data.buckets.len(), data.buckets[59].at), (60, at(102)));
        assert_eq!(data.buckets[59].values, [Some(7), Some(2), Some(1)]);
        assert_eq!(data.buckets[58].values, [None, None, None]);
        assert_eq!(data.buckets[57].values, [None, Some(2), Some(1)]);
        assert!(data.buckets.iter().all(|bucket| !bucket.is_partial));
        assert_eq!(chart(&[]).buckets.len(), 0);
    }
}
