//! The overview's table of integrations, those that need attention first.

use crate::components::{GaugeRow, GaugeTable, HealthText, row_of};
use crate::format;
use crate::ui::Card;
use leptos::prelude::*;
use model::{stats::Snapshot, views::overview::LeftOut};

#[component]
pub fn Busiest(
    snapshot: Signal<Snapshot>,
    /// What the first snapshot leaves out.
    left_out: Signal<LeftOut>,
    /// On a page about the past: no link to the present table.
    is_past: bool,
) -> impl IntoView {
    const MAX_ROWS: usize = 12;
    let rows = Memo::new(move |_| {
        snapshot.with(|s| {
            let mut rows: Vec<_> =
                s.integrations.iter().map(|g| (HealthText::of(g, s.at), g.clone())).collect();
            rows.sort_by(HealthText::worst_first);
            rows.truncate(MAX_ROWS);
            rows
        })
    });
    let max_backlog =
        Memo::new(move |_| rows.with(|rows| rows.iter().map(|(_, g)| g.backlog).max().unwrap_or(0)).max(1));
    let sub = Signal::derive(move || {
        let all = snapshot.with(|s| s.integrations.len()) + left_out.get().integrations;
        if all > MAX_ROWS {
            format!("{MAX_ROWS} of {}, worst first", format::count(all as i64))
        } else {
            "worst first".to_owned()
        }
    });
    view! {
        <Card title="Integrations" sub=sub more=(!is_past).then(|| ("/integrations".to_owned(), "Open table".to_owned()))>
            <GaugeTable>
                <For
                    each=move || rows.get()
                    key=|(_, gauge)| gauge.integration_id
                    children=move |first| view! { <GaugeRow row=row_of(rows, first) max_backlog=max_backlog /> }
                />
            </GaugeTable>
        </Card>
    }
    .into_any()
}
