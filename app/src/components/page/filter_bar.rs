//! Filters of a list. A GET form: they are in the address, and need no script.

use crate::format;
use crate::state::page_url::PageUrl;
use crate::state::{base_path, url_filters};
use crate::ui::{Button, Glyph, LinkButton, SelectField, SelectOption, TextField};
use leptos::prelude::*;
use model::views::choices::Choices;
use model::views::names::Names;

/// The range of a number of attempts.
const ATTEMPTS: Option<(i64, i64)> = Some((0, 100));

/// Fields that are always visible.
const VISIBLE: [&str; 3] = ["q", "integration_id", "error"];

const FOLDED: [&str; 16] = [
    "app_id",
    "job_type",
    "record_type",
    "record_id",
    "min_age",
    "max_age",
    "attempt_min",
    "attempt_max",
    "response_status",
    "payload",
    "correlation_id",
    "worker_id",
    "created_after",
    "created_before",
    "finished_after",
    "finished_before",
];

/// Search, integration, error, and more on demand. Filters in the address that have no field, and its columns, are kept as hidden
/// fields.
#[component]
pub fn FilterBar(
    url: PageUrl,
    path: &'static str,
    choices: Choices,
    /// Names on the page, which may be newer than the sample of `choices`.
    names: Names,
) -> impl IntoView {
    let options = integration_options(&choices, &names);
    let value = |name: &str| url.get(name).unwrap_or_default().to_owned();
    let kept: Vec<_> = url_filters::active(&url)
        .into_iter()
        .filter(|(name, _)| !VISIBLE.contains(&name.as_str()) && !FOLDED.contains(&name.as_str()))
        .chain(url.get("columns").map(|columns| ("columns".to_owned(), columns.to_owned())))
        .collect();
    let has_filter = !url_filters::active(&url).is_empty();
    view! {
        <form method="get" action=base_path::current().join(path) class="filters" role="search" aria-label="Filter">
            {kept.into_iter().map(|(name, value)| view! { <input type="hidden" name=name value=value /> }).collect_view()}
            <TextField
                name="q"
                label="Search"
                kind="search"
                placeholder="job, record, correlation or deduplication id"
                value=value("q")
                grow=true
            />
            <SelectField name="integration_id" label="Integration" value=value("integration_id") options=options />
            <TextField name="error" label="Error contains" value=value("error") />
            <div class="fit flex gap-2">
                <Button glyph=Glyph::Search>"Filter"</Button>
                {has_filter.then(|| view! { <LinkButton href=url_filters::cleared(&url).to_string()>"Clear"</LinkButton> })}
            </div>
            <More url=url choices=choices />
        </form>
    }
    .into_any()
}

/// Less frequent filters, folded away; the sentence below names those in use.
#[component]
fn More(url: PageUrl, choices: Choices) -> impl IntoView {
    let value = |name: &str| url.get(name).unwrap_or_default().to_owned();
    // Any form of time an address may have, in the format of the field.
    let time = |name: &str| {
        let at = url.get(name).and_then(format::parse_moment);
        at.map(|at| at.format("%Y-%m-%dT%H:%M").to_string()).unwrap_or_default()
    };
    view! {
        <details class="more">
            <summary>"More filters"</summary>
            <div>
                <SelectField name="app_id" label="App" value=value("app_id") options=app_options(&choices, &value("app_id")) />
                <TextField name="job_type" label="Kind" placeholder="record.updated" value=value("job_type") />
                <TextField name="record_type" label="Record type" placeholder="product" value=value("record_type") />
                <TextField name="record_id" label="Record" value=value("record_id") />
                <TextField name="min_age" label="Older than" placeholder="15m, 2h, 7d" value=value("min_age") />
                <TextField name="max_age" label="Younger than" placeholder="15m, 2h, 7d" value=value("max_age") />
                <TextField name="attempt_min" label="Attempts, at least" kind="number" range=ATTEMPTS value=value("attempt_min") />
                <TextField name="attempt_max" label="Attempts, at most" kind="number" range=ATTEMPTS value=value("attempt_max") />
                <TextField name="response_status" label="Last response" placeholder="503 or 5xx" value=value("response_status") />
                <TextField name="payload" label="Payload has" placeholder="order.id=17" value=value("payload") />
                <TextField name="correlation_id" label="Correlation id" value=value("correlation_id") />
                <TextField name="worker_id" label="Worker id" value=value("worker_id") />
                <TextField name="created_after" label="Accepted since (UTC)" kind="datetime-local" value=time("created_after") />
                <TextField name="created_before" label="Accepted before (UTC)" kind="datetime-local" value=time("created_before") />
                <TextField name="finished_after" label="Ended since (UTC)" kind="datetime-local" value=time("finished_after") />
                <TextField name="finished_before" label="Ended before (UTC)" kind="datetime-local" value=time("finished_before") />
            </div>
        </details>
    }
    .into_any()
}

/// Apps of the sample, and the chosen one.
fn app_options(choices: &Choices, chosen: &str) -> Vec<SelectOption> {
    let mut options: Vec<_> =
        choices.apps.iter().map(|(id, name)| SelectOption::new(id.to_string(), name.clone())).collect();
    options.sort_by(|a, b| a.label.cmp(&b.label));
    if !chosen.is_empty() && options.iter().all(|option| option.value != chosen) {
        options.insert(0, SelectOption::new(chosen, "Selected app"));
    }
    options.extend(SelectOption::more(choices.more_apps, "open one from Integrations"));
    options.insert(0, SelectOption::new("", "All apps"));
    options
}

/// Integrations of the sample, and those on the page.
fn integration_options(choices: &Choices, names: &Names) -> Vec<SelectOption> {
    let mut by_id = choices.integrations.clone();
    by_id.extend(names.iter().map(|(id, name)| (id, format!("{} · {}", name.name, name.app_name))));
    let mut options: Vec<_> =
        by_id.into_iter().map(|(id, label)| SelectOption::new(id.to_string(), label)).collect();
    options.sort_by(|a, b| a.label.cmp(&b.label));
    options.insert(0, SelectOption::new("", "All integrations"));
    options.extend(SelectOption::more(choices.more_integrations, "open one from Integrations"));
    options
}
