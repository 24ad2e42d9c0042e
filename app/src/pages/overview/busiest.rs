//! Integrations with work, a limit or a fault, worst first.

use crate::{
    calls::stats::LeftOut,
    components::{GaugeRow, GaugeTable, Health},
    format,
    ui::Card,
};
use leptos::prelude::*;
use model::stats::{IntegrationGauge, Snapshot};

/// Integrations with work, a limit or a fault, worst first.
#[component]
pub fn Busiest(
    /// The gauges.
    snapshot: Signal<Snapshot>,
    /// What they leave out.
    left_out: Signal<LeftOut>,
    /// Of a moment that is over: the table of now is another.
    is_past: bool,
) -> impl IntoView {
    const MOST: usize = 12;
    let rows = Memo::new(move |_| {
        snapshot.with(|s| {
            let mut rows: Vec<_> = s.integrations.iter().map(|g| (Health::of(g, s.at), g.clone())).collect();
            rows.sort_by(|a, b| Health::worst_first((&a.0, &a.1), (&b.0, &b.1)));
            rows.truncate(MOST);
            rows
        })
    });
    let most =
        Memo::new(move |_| rows.with(|rows| rows.iter().map(|(_, g)| g.backlog).max().unwrap_or(0)).max(1));
    let sub = Signal::derive(move || {
        let all = snapshot.with(|s| s.integrations.len()) + left_out.get().integrations;
        if all > MOST {
            format!("{MOST} of {}, worst first", format::count(all as i64))
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
                    children=move |(health, gauge)| {
                        let id = gauge.integration_id;
                        let row = Memo::new(move |last: Option<&(Health, IntegrationGauge)>| {
                            rows.with(|rows| rows.iter().find(|(_, g)| g.integration_id == id).cloned())
                                .or_else(|| last.cloned())
                                .unwrap_or_else(|| (health.clone(), gauge.clone()))
                        });
                        view! { <GaugeRow row=row most=most /> }
                    }
                />
            </GaugeTable>
        </Card>
    }
    .into_any()
}
