//! Integrations whose oldest job waits longest, with a link to their jobs.

use crate::format;
use crate::ui::{Card, Link};
use leptos::prelude::*;
use model::stats::{IntegrationGauge, Snapshot};

const MAX_ROWS: usize = 5;

#[component]
pub fn Oldest(
    snapshot: Signal<Snapshot>,
    /// On a page about the past, where no list has those jobs any more.
    is_past: bool,
) -> impl IntoView {
    let rows = Memo::new(move |_| snapshot.with(|s| oldest(&s.integrations)));
    view! {
        <Card title="Waiting longest" sub="oldest claimable job per integration">
            <ul class="lines">
                <For
                    each=move || rows.get()
                    key=|gauge| gauge.integration_id
                    children=move |gauge| {
                        let id = gauge.integration_id;
                        let row = Memo::new(move |last: Option<&IntegrationGauge>| {
                            rows.with(|rows| rows.iter().find(|g| g.integration_id == id).cloned())
                                .or_else(|| last.cloned())
                                .unwrap_or_else(|| gauge.clone())
                        });
                        let age = move || row.with(|g| format::age_seconds(g.oldest_pending_age_seconds.unwrap_or(0)));
                        let jobs = move || row.with(|g| format::counted(g.backlog, "job waits", "jobs wait"));
                        let (name, app) = row.with_untracked(|g| (g.name.clone(), g.app_name.clone()));
                        let name = if is_past {
                            view! { <span class="font-semibold">{name}</span> }.into_any()
                        } else {
                            view! {
                                <Link href=format!("/jobs?status=pending&integration_id={id}") class="font-semibold hover:underline">
                                    {name}
                                </Link>
                            }
                                .into_any()
                        };
                        view! {
                            <li>
                                <span class="min-w-0">{name} " " <span class="type-label text-faint">{app}</span></span>
                                <span class="type-label text-muted">{jobs}</span>
                                <b class="tabular-nums">{age}</b>
                            </li>
                        }
                    }
                />
            </ul>
            {move || {
                rows.with(Vec::is_empty).then(|| view! { <p class="px-4 pb-4 text-muted">"No jobs are waiting."</p> })
            }}
        </Card>
    }
    .into_any()
}

fn oldest(gauges: &[IntegrationGauge]) -> Vec<IntegrationGauge> {
    let mut waiting: Vec<_> = gauges
        .iter()
        .filter(|gauge| gauge.backlog > 0 && gauge.oldest_pending_age_seconds.is_some())
        .collect();
    waiting.sort_by_key(|gauge| (std::cmp::Reverse(gauge.oldest_pending_age_seconds), gauge.integration_id));
    waiting.into_iter().take(MAX_ROWS).cloned().collect()
}
