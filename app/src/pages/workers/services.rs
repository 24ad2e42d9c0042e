//! What the leader does for all, in plain words: each service with how it is doing.

use crate::{
    calls::workers::WorkersPage,
    format,
    ui::{Ago, Card, Glyph, Pill, Table, Tone},
};
use leptos::prelude::*;

/// The card. Troubles first; the rest in the order in which the leader runs them.
#[component]
pub fn Services(
    /// The newest numbers.
    page: Memo<WorkersPage>,
) -> impl IntoView {
    let rows = move || {
        let WorkersPage { mut services, as_of, .. } = page.get();
        services.sort_by_key(|service| service.is_healthy);
        services
            .into_iter()
            .map(|service| {
                let (tone, glyph, word) = match (service.is_healthy, service.failures_in_a_row) {
                    (true, 0) => (Tone::Delivered, Glyph::Check, "Fine".to_owned()),
                    (true, n) => (Tone::Retrying, Glyph::Clock, format!("{}, tried again", times(n))),
                    (false, n) => (Tone::Failed, Glyph::Alert, times(n)),
                };
                view! {
                    <tr>
                        <td class="what">{words(&service.name)}</td>
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
        <Card title="Maintenance" sub="what the leader does for all">
            {move || {
                is_empty
                    .get()
                    .then(|| {
                        view! {
                            <p class="px-4 pt-1 pb-4 text-muted">
                                "Nobody has reported yet. With its first heartbeat a process takes the lead and begins."
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
                            <th scope="col">"Last went well"</th>
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

fn words(name: &str) -> String {
    match name {
        "promote" => "Makes jobs whose time has come claimable",
        "lease_recovery" => "Gives back the jobs of workers that vanished",
        "breakers" => "Ends the waits of open circuits",
        "expiry" => "Ends jobs whose time has run out",
        "fold_counts" => "Adds up counters",
        "rollup" => "Adds up what was done, for charts",
        "sample" => "Takes the numbers of these pages",
        "limit_use" => "Keeps how rate limits were used",
        "count_views" => "Counts what pinned views find, and lets them alert",
        "operations" => "Carries out bulk actions",
        "partitions" => "Makes room for the days ahead",
        "retention" => "Forgets what is older than it is kept",
        "deleted_records" => "Forgets deleted records that every integration knows of",
        "vacuum" => "Keeps the tables small",
        "recount" => "Proves the counters",
        "reindex" => "Keeps the indexes small",
        "tidy" => "Removes what belongs to nothing",
        "resyncs" => "Sends catalogs again",
        // Of a newer version.
        other => return other.replace('_', " "),
    }
    .to_owned()
}
