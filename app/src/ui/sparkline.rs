//! The last hour in a thumbnail: a soft area under a line.

use super::chart_scale::points;
use leptos::prelude::*;

/// Takes the tone of what surrounds it.
#[component]
pub fn Sparkline(
    /// Oldest first; fewer than two points draw nothing.
    #[prop(into)]
    values: Signal<Vec<f64>>,
    /// What it shows, for assistive technology.
    #[prop(into)]
    label: String,
) -> impl IntoView {
    let line = Memo::new(move |_| points(&values.read(), 200.0, 30.0));
    view! {
        <svg viewBox="0 0 200 30" preserveAspectRatio="none" role="img" aria-label=label>
            <polygon
                class="fill-tone-soft"
                points=move || line.with(|l| if l.is_empty() { String::new() } else { format!("0,30 {l} 200,30") })
            />
            <polyline
                class="stroke-tone-solid"
                points=move || line.get()
                fill="none"
                stroke-width="1.5"
                vector-effect="non-scaling-stroke"
            />
        </svg>
    }
}
