//! Numbers over time: stacked bars (counts), stacked areas (levels) or lines (percentiles), with a grid, marks of events, a readout and a
//! table with the same numbers.
//!
//! ```text
//! ChartCursor::provide(); // once for the page: pointer and arrow keys on one chart move the readout of all
//! let series = vec![
//!     ChartSeries::new("p50", Tone::Processing),
//!     ChartSeries::new("p95", Tone::Retrying).stroke(Stroke::Dashed),
//! ];
//! let data = Memo::new(move |_| ChartData { buckets: …, ..ChartData::default() }); // values: Vec<Option<i64>>, one per series
//! view! {
//!     <Card title="How long it takes" aside=legend(&series)>
//!         <TimeChart label="…" series=series data=data form=ChartForm::Lines unit=ChartUnit::Milliseconds />
//!     </Card>
//! }
//! ```
//! Values are integers, so that those beyond 2^53 are exact. `None` is a gap, not zero.

mod data;
mod drawing;
mod marks;
mod slider;
mod table;

pub use data::{ChartBucket, ChartData, ChartForm, ChartMark, ChartSeries, ChartUnit, Stroke};

use self::{marks::Marks, slider::Slider, table::DataTable};
use super::{ChartCursor, chart_scale::axis};
use leptos::prelude::*;

const HEIGHT: f64 = 150.0;
/// Width of one bucket in units of the drawing; the SVG is stretched to its box.
const STEP: f64 = 10.0;

/// Without a script each bucket has its numbers as a tooltip, and the table has all of them.
#[component]
pub fn TimeChart(
    /// What it shows, in one sentence.
    #[prop(into)]
    label: String,
    /// Bottom first.
    series: Vec<ChartSeries>,
    #[prop(into)] data: Signal<ChartData>,
    #[prop(optional)] form: ChartForm,
    #[prop(optional)] unit: ChartUnit,
) -> impl IntoView {
    let series = StoredValue::new(series);
    let cursor = ChartCursor::current();
    let scale = Memo::new(move |_| axis(data.with(|d| d.top(form))));
    let width = Memo::new(move |_| data.with(|d| d.buckets.len()).max(1) as f64 * STEP);
    let pointed = Memo::new(move |_| cursor.get().and_then(|at| data.with(|d| d.bucket_of(at))));
    let sentence =
        move |index| data.with(|d| series.with_value(|series| d.sentence(index, series, form, unit)));
    let y_labels = move || {
        let (top, step) = scale.get();
        let lines = (top / step).round() as usize;
        (0..=lines).rev().map(|line| view! { <span>{unit.label(line as f64 * step)}</span> }).collect_view()
    };
    let shapes =
        (0..series.with_value(Vec::len)).map(|at| shape(at, series, data, scale, form)).collect_view();
    // Only on the server: in the browser the slider lies above them.
    let hits: String = if cfg!(feature = "ssr") {
        (0..data.with_untracked(|d| d.buckets.len()))
            .map(|at| drawing::hit(at, &untrack(|| sentence(at))))
            .collect()
    } else {
        String::new()
    };
    view! {
        <div class="chart">
            <div class="plot">
                <div class="ylab" aria-hidden="true">
                    {y_labels}
                </div>
                <div class="canvas">
                    <svg
                        viewBox=move || format!("0 0 {} {HEIGHT}", width.get())
                        preserveAspectRatio="none"
                        role="img"
                        aria-label=label.clone()
                    >
                        <path class="fill-sunken" d=move || data.with(drawing::gaps) />
                        <path class="stroke-line" fill="none" vector-effect="non-scaling-stroke" d=move || grid(scale.get(), width.get()) />
                        {shapes}
                        <path
                            class="stroke-muted"
                            fill="none"
                            stroke-dasharray="4 3"
                            vector-effect="non-scaling-stroke"
                            d=move || data.with(|d| drawing::ghost(d, scale.get().0))
                        />
                        <g inner_html=hits></g>
                        <path
                            class="stroke-ink"
                            stroke-opacity="0.5"
                            vector-effect="non-scaling-stroke"
                            d=move || {
                                pointed.get().map(|at| format!("M{:.1} 0v{HEIGHT}", (at as f64 + 0.5) * STEP)).unwrap_or_default()
                            }
                        />
                    </svg>
                    <Marks data=data />
                    <Slider label=label.clone() data=data pointed=pointed sentence=Callback::new(sentence) />
                </div>
                <div class="xlab" aria-hidden="true">
                    {move || {
                        data.with(data::x_labels)
                            .into_iter()
                            .map(|text| view! { <span>{text}</span> })
                            .collect_view()
                    }}
                </div>
            </div>
            {move || pointed.get().map(|at| view! { <div class="readout">{sentence(at)}</div> })}
        </div>
        <DataTable label=label series=series data=data unit=unit />
    }
    .into_any()
}

/// The legend, for a card's `aside`.
pub fn legend(series: &[ChartSeries], ghost: Option<&'static str>) -> ViewFn {
    let items: Vec<_> = series.iter().map(|series| (series.tone, series.label, series.stroke)).collect();
    ViewFn::from(move || {
        let items = items
            .iter()
            .map(|(tone, label, stroke)| {
                let mark = if stroke.dashes().is_some() { "line" } else { "" };
                view! {
                    <span class=tone.class()>
                        <i class=mark></i>
                        {*label}
                    </span>
                }
            })
            .collect_view();
        let ghost = ghost.map(|label| view! { <span><i class="ghost"></i>{label}</span> });
        view! { <span class="legend ml-auto">{items} {ghost}</span> }
    })
}

fn shape(
    at: usize,
    series: StoredValue<Vec<ChartSeries>>,
    data: Signal<ChartData>,
    scale: Memo<(f64, f64)>,
    form: ChartForm,
) -> impl IntoView {
    let (tone, dashes) = series
        .with_value(|series| series.get(at).map_or_else(Default::default, |s| (s.tone, s.stroke.dashes())));
    let paths = Memo::new(move |_| data.with(|d| drawing::paths(d, at, form, scale.get().0)));
    let drawn = if form == ChartForm::Lines {
        view! {
            <path
                class="stroke-tone-solid"
                fill="none"
                stroke-width="1.8"
                stroke-dasharray=dashes
                stroke-linejoin="round"
                vector-effect="non-scaling-stroke"
                d=move || paths.with(|p| p.whole.clone())
            />
        }
        .into_any()
    } else {
        view! {
            <path class="fill-tone-solid" d=move || paths.with(|p| p.whole.clone()) />
            <path
                class="fill-tone-solid stroke-tone-solid"
                fill-opacity="0.35"
                stroke-dasharray="3 3"
                vector-effect="non-scaling-stroke"
                d=move || paths.with(|p| p.partial.clone())
            />
        }
        .into_any()
    };
    view! { <g class=tone.class()>{drawn}</g> }
}

fn grid((top, step): (f64, f64), width: f64) -> String {
    let lines = (top / step).round() as usize;
    (0..=lines)
        .map(|line| format!("M0 {:.1}h{width:.1}", HEIGHT - line as f64 * step / top * HEIGHT))
        .collect()
}
