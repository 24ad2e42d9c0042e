//! Stacked bars over time, with a grid, labels, a readout under the pointer and a table with the same numbers.

use super::{Tone, chart_scale::axis};
use crate::format;
use leptos::prelude::*;

const HEIGHT: f64 = 150.0;
/// Width of one bucket in the drawing's own units; the SVG is stretched to its box.
const STEP: f64 = 10.0;

/// What one colour means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartSeries {
    /// Its name in legend, readout and table.
    pub label: &'static str,
    /// Its colour.
    pub tone: Tone,
}

/// One span of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChartBucket {
    /// When, as the axis writes it.
    pub label: String,
    /// One value per series, the first at the bottom.
    pub values: Vec<f64>,
    /// Not over yet: drawn dashed.
    pub is_partial: bool,
}

/// Something that happened at a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartMark {
    /// Index of the bucket.
    pub bucket: usize,
    /// What happened.
    pub label: String,
}

/// All that is drawn; replaced as a whole when it changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChartData {
    /// Oldest first.
    pub buckets: Vec<ChartBucket>,
    /// Vertical lines with words.
    pub marks: Vec<ChartMark>,
}

/// The chart. Without a script each bar still has its numbers as a tooltip.
#[component]
pub fn TimeChart(
    /// What it shows, in one sentence.
    #[prop(into)]
    label: String,
    /// Bottom first.
    series: Vec<ChartSeries>,
    /// The numbers.
    #[prop(into)]
    data: Signal<ChartData>,
) -> impl IntoView {
    let series = StoredValue::new(series);
    let hovered = RwSignal::new(None::<usize>);
    let scale = Memo::new(move |_| {
        let top = data.with(|d| d.buckets.iter().map(|b| b.values.iter().sum()).fold(0.0, f64::max));
        axis(top)
    });
    let y_labels = move || {
        let (top, step) = scale.get();
        let lines = (top / step).round() as usize;
        (0..=lines).rev().map(|line| format::compact(line as f64 * step)).collect::<Vec<_>>()
    };
    let readout = move || {
        let at = hovered.get()?;
        data.with(|d| d.buckets.get(at).map(|bucket| series.with_value(|s| sentence(bucket, s))))
    };
    view! {
        <div class="chart">
            <div class="plot">
                <div class="ylab" aria-hidden="true">
                    {move || y_labels().into_iter().map(|text| view! { <span>{text}</span> }).collect_view()}
                </div>
                <svg
                    viewBox=move || {
                        format!("0 0 {} {HEIGHT}", data.with(|d| d.buckets.len()).max(1) as f64 * STEP)
                    }
                    preserveAspectRatio="none"
                    role="img"
                    aria-label=label.clone()
                    on:pointerleave=move |_| hovered.set(None)
                >
                    {move || grid(scale.get(), data.with(|d| d.buckets.len()))}
                    {move || {
                        let (top, _) = scale.get();
                        data.with(|d| {
                            d.buckets
                                .iter()
                                .enumerate()
                                .map(|(at, bucket)| {
                                    let bars = series.with_value(|s| bars(at, bucket, s, top));
                                    let title = series.with_value(|s| sentence(bucket, s));
                                    view! {
                                        <g on:pointerenter=move |_| hovered.set(Some(at))>
                                            <title>{title}</title>
                                            {bars}
                                            <rect
                                                class="hit"
                                                x=format!("{:.1}", at as f64 * STEP)
                                                y="0"
                                                width=format!("{STEP:.1}")
                                                height=format!("{HEIGHT:.1}")
                                            />
                                        </g>
                                    }
                                })
                                .collect_view()
                        })
                    }}
                    {move || data.with(|d| d.marks.iter().map(mark).collect_view())}
                </svg>
                <div class="xlab" aria-hidden="true">
                    {move || {
                        data.with(|d| x_labels(&d.buckets))
                            .into_iter()
                            .map(|text| view! { <span>{text}</span> })
                            .collect_view()
                    }}
                </div>
            </div>
            {move || readout().map(|text| view! { <div class="readout">{text}</div> })}
        </div>
        <details class="data-twin">
            <summary>"The same as a table"</summary>
            <div role="region" aria-label=format!("{label}, as a table") tabindex="0">
                <table class="table">
                    <thead>
                        <tr>
                            <th scope="col">"Time (UTC)"</th>
                            {series
                                .get_value()
                                .into_iter()
                                .map(|s| {
                                    view! {
                                        <th scope="col" class="n">
                                            {s.label}
                                        </th>
                                    }
                                })
                                .collect_view()}
                        </tr>
                    </thead>
                    <tbody>
                        {move || data.with(|d| d.buckets.iter().rev().map(table_row).collect_view())}
                    </tbody>
                </table>
            </div>
        </details>
    }
    .into_any()
}

fn grid((top, step): (f64, f64), buckets: usize) -> impl IntoView {
    let lines = (top / step).round() as usize;
    (0..=lines)
        .map(|line| {
            let y = format!("{:.1}", HEIGHT - line as f64 * step / top * HEIGHT);
            view! {
                <line
                    class="stroke-line"
                    x1="0"
                    x2=format!("{:.1}", buckets.max(1) as f64 * STEP)
                    y1=y.clone()
                    y2=y
                    vector-effect="non-scaling-stroke"
                />
            }
        })
        .collect_view()
}

fn bars(at: usize, bucket: &ChartBucket, series: &[ChartSeries], top: f64) -> impl IntoView + use<> {
    let mut floor = HEIGHT;
    let is_partial = bucket.is_partial;
    bucket
        .values
        .iter()
        .zip(series)
        .filter(|(value, _)| **value > 0.0)
        .map(|(value, series)| {
            let height = (value / top * HEIGHT).max(0.8);
            floor -= height;
            view! {
                <g class=series.tone.class()>
                    <rect
                        class="fill-tone-solid"
                        x=format!("{:.2}", at as f64 * STEP + STEP * 0.04)
                        y=format!("{floor:.2}")
                        width=format!("{:.2}", STEP * 0.92)
                        height=format!("{height:.2}")
                        fill-opacity=if is_partial { "0.35" } else { "1" }
                        stroke=is_partial.then_some("var(--tone-solid)")
                        stroke-dasharray=is_partial.then_some("3 3")
                        vector-effect="non-scaling-stroke"
                    />
                </g>
            }
        })
        .collect_view()
}

fn mark(mark: &ChartMark) -> impl IntoView + use<> {
    let x = format!("{:.1}", (mark.bucket as f64 + 0.5) * STEP);
    view! {
        <g>
            <title>{mark.label.clone()}</title>
            <line
                class="stroke-failed"
                x1=x.clone()
                x2=x
                y1="0"
                y2=HEIGHT.to_string()
                stroke-dasharray="3 3"
                vector-effect="non-scaling-stroke"
            />
        </g>
    }
}

fn table_row(bucket: &ChartBucket) -> impl IntoView + use<> {
    view! {
        <tr>
            <td>{bucket.label.clone()} {bucket.is_partial.then_some(" (running)")}</td>
            {bucket
                .values
                .iter()
                .map(|value| view! { <td class="n">{format::count(value.round() as i64)}</td> })
                .collect_view()}
        </tr>
    }
}

/// `14:21 · 3,214 delivered · 12 failed attempts`.
fn sentence(bucket: &ChartBucket, series: &[ChartSeries]) -> String {
    let values = bucket.values.iter().zip(series);
    let mut parts = vec![bucket.label.clone()];
    parts.extend(values.map(|(value, s)| format!("{} {}", format::count(value.round() as i64), s.label)));
    parts.join(" · ")
}

/// Five labels over the width, the last one `now`.
fn x_labels(buckets: &[ChartBucket]) -> Vec<String> {
    let Some(last) = buckets.len().checked_sub(1) else { return Vec::new() };
    if last < 4 {
        return buckets.iter().map(|bucket| bucket.label.clone()).collect();
    }
    (0..4).map(|quarter| buckets[last * quarter / 4].label.clone()).chain(["now".to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_reads_as_one_sentence() {
        let series = [
            ChartSeries { label: "delivered", tone: Tone::Delivered },
            ChartSeries { label: "failed attempts", tone: Tone::Failed },
        ];
        let bucket =
            ChartBucket { label: "14:21".to_owned(), values: vec![3_214.0, 12.0], is_partial: false };
        assert_eq!(sentence(&bucket, &series), "14:21 · 3,214 delivered · 12 failed attempts");
    }

    #[test]
    fn the_axis_ends_with_now() {
        let buckets: Vec<_> =
            (0..60).map(|m| ChartBucket { label: format!("14:{m:02}"), ..Default::default() }).collect();
        assert_eq!(x_labels(&buckets), ["14:00", "14:14", "14:29", "14:44", "now"]);
        assert!(x_labels(&[]).is_empty());
    }
}
