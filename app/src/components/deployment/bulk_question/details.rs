//! What a bulk action would affect, as it was counted.

use crate::components::{IntegrationLink, JobStateStyle};
use crate::format;
use crate::ui::{Fact, Facts, Link};
use leptos::prelude::*;
use model::operation::{AT_ONCE, AddedLoad, DryRun, DryRunPart, SampleRow};
use model::views::names::Names;

#[component]
pub fn Details(run: DryRun, names: Names) -> impl IntoView {
    const MAX_ROWS: usize = 5;
    let more = run.breakdown.len().saturating_sub(MAX_ROWS);
    let more_load = run.added_load.len().saturating_sub(MAX_ROWS);
    let of_load = names.clone();
    let eta = run.eta_seconds.filter(|_| run.matched > AT_ONCE);
    view! {
        <Facts>
            <Fact name="Breakdown">
                <ul>
                    {run
                        .breakdown
                        .into_iter()
                        .take(MAX_ROWS)
                        .map(|part| view! { <Part part=part names=names.clone() /> })
                        .collect_view()}
                    {(more > 0).then(|| view! { <li class="text-faint">{format!("and {more} more")}</li> })}
                </ul>
            </Fact>
            <Fact name="Examples">
                <ul>{run.sample_rows.into_iter().map(|row| view! { <Sample row=row /> }).collect_view()}</ul>
            </Fact>
            {(!run.added_load.is_empty())
                .then(|| {
                    view! {
                        <Fact name="Added load">
                            <ul>
                                {run
                                    .added_load
                                    .into_iter()
                                    .take(MAX_ROWS)
                                    .map(|load| view! { <li>{load_in_words(&load, &of_load)}</li> })
                                    .collect_view()}
                                {(more_load > 0)
                                    .then(|| view! { <li class="text-faint">{format!("and {more_load} more")}</li> })}
                            </ul>
                        </Fact>
                    }
                })}
            {eta.map(|eta| view! { <Fact name="Duration">{format!("about {}, plus response times", format::eta(eta))}</Fact> })}
        </Facts>
    }
    .into_any()
}

#[component]
fn Part(part: DryRunPart, names: Names) -> impl IntoView {
    let word = JobStateStyle::of(part.status).word.to_lowercase();
    view! {
        <li>
            <IntegrationLink id=part.integration_id names=names in_text=true />
            {format!(": {} {word}", format::count(part.count))}
        </li>
    }
    .into_any()
}

#[component]
fn Sample(row: SampleRow) -> impl IntoView {
    let about = match (&row.record_type, &row.record_id) {
        (Some(kind), Some(id)) => format!("{kind} {id}"),
        _ => row.job_type.clone(),
    };
    view! {
        <li>
            <Link href=format!("/jobs/{}", row.job_id) class="inline-flex items-center min-h-6">
                {about}
            </Link>
        </li>
    }
    .into_any()
}

/// `Marketplace: 3,000 more jobs, 12 already pending; about 3 min at 20/s`
fn load_in_words(load: &AddedLoad, names: &Names) -> String {
    let called: Vec<&str> = load
        .integration_ids
        .iter()
        .map(|id| names.of(*id).map_or("deleted integration", |of| of.name.as_str()))
        .collect();
    let added = format::counted(load.added, "more job", "more jobs");
    let mut words = format!("{}: {added}", called.join(", "));
    if load.pending > 0 {
        words.push_str(&format!(", {} already pending", format::count(load.pending)));
    }
    match (load.requests, load.per_seconds, load.drain_seconds) {
        (Some(requests), Some(seconds), Some(drain)) => words.push_str(&format!(
            "; about {} at {}",
            format::eta(drain),
            format::limit(requests.into(), seconds.into())
        )),
        _ => words.push_str("; no rate limit"),
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::id::IntegrationId;

    #[test]
    fn added_load_names_the_limit_and_how_long_it_takes() {
        let load = AddedLoad {
            integration_ids: vec![IntegrationId::generate()],
            added: 3_000,
            pending: 12,
            requests: Some(20),
            per_seconds: Some(1),
            drain_seconds: Some(151),
        };
        let words = load_in_words(&load, &Names::default());
        assert_eq!(words, "deleted integration: 3,000 more jobs, 12 already pending; about 3 min at 20/s");
        let free = AddedLoad { pending: 0, requests: None, per_seconds: None, drain_seconds: None, ..load };
        assert_eq!(
            load_in_words(&free, &Names::default()),
            "deleted integration: 3,000 more jobs; no rate limit"
        );
    }
}
