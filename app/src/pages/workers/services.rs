//! Maintenance services that the leader runs: what each does, and whether it works.

use crate::format;
use crate::ui::{Ago, Card, Glyph, Pill, Table, Tone};
use leptos::prelude::*;
use model::views::workers::WorkersPage;

/// Failing services first, then in the order in which the leader runs them.
#[component]
pub fn Services(page: Memo<WorkersPage>) -> impl IntoView {
    let rows = move || {
        let WorkersPage { mut services, as_of, .. } = page.get();
        services.sort_by_key(|service| service.is_healthy);
        services
            .into_iter()
            .map(|service| {
                let (tone, glyph, word) = match (service.is_healthy, service.failures_in_a_row) {
                    (true, 0) => (Tone::Delivered, Glyph::Check, "Healthy".to_owned()),
                    (true, n) => (Tone::Retrying, Glyph::Clock, format!("{}, retrying", times(n))),
                    (false, n) => (Tone::Failed, Glyph::Alert, times(n)),
                };
                view! {
                    <tr>
                        <td class="what">{service_sentence(&service.name).map_or_else(|| service.name.replace('_', " "), str::to_owned)}</td>
                        <td class="state">
                            <Pill
                                tone=Signal::stored(tone)
                                glyph=Signal::stored(glyph)
                                label=Signal::stored(word)
                            />
                        </td>
                        <td class="when text-muted">
                            {match service.succeeded_at {
                                Some(at) => view! { <Ago at=at now=Signal::stored(as_of) /> }.into_any(),
                                None => "not yet".into_any(),
                            }}
                        </td>
                        <td class="n" data-label="took">{format::milliseconds(service.took_ms)}</td>
                    </tr>
                }
            })
            .collect_view()
    };
    let is_empty = Memo::new(move |_| page.with(|page| page.services.is_empty()));
    view! {
        <Card title="Maintenance" sub="run by the leader">
            {move || {
                is_empty
                    .get()
                    .then(|| {
                        view! {
                            <p class="px-4 pt-1 pb-4 text-muted">
                                "No reports yet. A process becomes the leader with its first heartbeat, and starts."
                            </p>
                        }
                    })
            }}
            <div class=move || if is_empty.get() { "hidden" } else { "" }>
                <Table
                    label="Maintenance"
                    stacks=true
                    head=|| {
                        view! {
                            <th scope="col">"What it does"</th>
                            <th scope="col">"State"</th>
                            <th scope="col">"Last success"</th>
                            <th scope="col" class="n">"Took"</th>
                        }
                    }
                >
                    {rows}
                </Table>
            </div>
        </Card>
    }
    .into_any()
}

fn times(n: u32) -> String {
    format!("Failed {}", format::counted(n.into(), "time", "times"))
}

/// What a service does; none: it is of a newer version. Every service that this program registers has one.
pub fn service_sentence(name: &str) -> Option<&'static str> {
    Some(match name {
        "promote" => "Moves due jobs into the queue",
        "lease_recovery" => "Recovers jobs with lost leases",
        "breakers" => "Half-opens breakers when their wait is over",
        "deletions" => "Deletes what is left of deleted apps and integrations",
        "expiry" => "Ends expired jobs",
        "fold_counts" => "Updates job counters",
        "fold_record_counts" => "Updates record counters",
        "rollup" => "Aggregates statistics for charts",
        "sample" => "Samples live numbers for the console",
        "limit_use" => "Records rate limit use",
        "count_views" => "Counts pinned views and raises their alerts",
        "operations" => "Runs bulk operations",
        "partitions" => "Creates day partitions ahead of time",
        "failures" => "Groups failures by cause",
        "retention" => "Deletes finished jobs and events past their retention",
        "access_retention" => "Deletes ended sessions, and audit log entries past their retention",
        "delivery_retention" => "Deletes event ids and re-syncs past their retention",
        "insight_retention" => "Deletes statistics past their retention",
        "deleted_records" => "Deletes records once every integration knows of their deletion",
        "vacuum" => "Keeps the tables small",
        "recount" => "Checks the counters",
        "reindex" => "Keeps the indexes small",
        "tidy" => "Removes orphaned rows",
        "resyncs" => "Creates the jobs of re-syncs",
        _ => return None,
    })
}
