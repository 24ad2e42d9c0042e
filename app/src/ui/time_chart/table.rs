//! The numbers of a chart as a table.

use super::data::{ChartData, ChartSeries, ChartUnit};
use html_escape::encode_text;
use leptos::prelude::*;
use std::fmt::Write as _;

#[component]
pub(super) fn DataTable(
    label: String,
    series: StoredValue<Vec<ChartSeries>>,
    data: Signal<ChartData>,
    unit: ChartUnit,
) -> impl IntoView {
    let has_events = Memo::new(move |_| data.with(|d| !d.marks.is_empty()));
    let ghost = Memo::new(move |_| data.with(|d| if d.ghost.is_empty() { "" } else { d.ghost_label }));
    let head = move || {
        let names = series.with_value(|series| series.iter().map(|s| s.label).collect::<Vec<_>>());
        let ghost = Some(ghost.get()).filter(|ghost| !ghost.is_empty());
        names
            .into_iter()
            .chain(ghost)
            .map(|name| view! { <th scope="col" class="n">{name}</th> })
            .collect_view()
    };
    view! {
        <details class="data-table">
            <summary>"View as table"</summary>
            <div role="region" aria-label=format!("{label}, as a table") tabindex="0">
                <table class="table">
                    <thead>
                        <tr>
                            <th scope="col">"Time (UTC)"</th>
                            {head}
                            {move || has_events.get().then(|| view! { <th scope="col">"Events"</th> })}
                        </tr>
                    </thead>
                    <tbody>
                        {move || {
                            data.with(|d| {
                                (0..d.buckets.len()).rev().map(|at| row(d, at, unit, has_events.get())).collect_view()
                            })
                        }}
                    </tbody>
                </table>
            </div>
        </details>
    }
    .into_any()
}

/// One node per row, because the table is rarely opened.
fn row(data: &ChartData, at: usize, unit: ChartUnit, has_events: bool) -> impl IntoView + use<> {
    view! { <tr inner_html=cells(data, at, unit, has_events)></tr> }
}

fn cells(data: &ChartData, at: usize, unit: ChartUnit, has_events: bool) -> String {
    let bucket = &data.buckets[at];
    let ghost = (!data.ghost.is_empty()).then(|| data.ghost.get(at).copied().flatten());
    let running = if bucket.is_partial { " (running)" } else { "" };
    let mut cells = format!("<td>{}{running}</td>", encode_text(&bucket.label));
    for value in bucket.values.iter().copied().chain(ghost) {
        let said = value.map_or_else(|| "–".to_owned(), |value| unit.say(value));
        // Writing to a string cannot fail.
        let _ = write!(cells, "<td class=\"n\">{}</td>", encode_text(&said));
    }
    if has_events {
        let _ = write!(cells, "<td>{}</td>", encode_text(&data.events(at)));
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::{ChartBucket, ChartMark, Tone};

    #[test]
    fn a_row_has_its_numbers_and_escaped_labels() {
        let bucket = ChartBucket {
            label: "14:03".to_owned(),
            values: vec![Some(1_234), None],
            is_partial: true,
            ..ChartBucket::default()
        };
        let mark = ChartMark { at: bucket.at, label: "<i>Shop</i> paused".to_owned(), tone: Tone::Failed };
        let data = ChartData { buckets: vec![bucket], marks: vec![mark], ..ChartData::default() };
        assert_eq!(
            cells(&data, 0, ChartUnit::default(), true),
            "<td>14:03 (running)</td><td class=\"n\">1,234</td><td class=\"n\">–</td><td>&lt;i&gt;Shop&lt;/i&gt; paused</td>"
        );
        assert!(!cells(&data, 0, ChartUnit::default(), false).contains("Shop"));
    }
}
