//! Filters of failures: app, integration and state, all in the address.

use crate::state::page_url::PageUrl;
use crate::state::{base_path, failure_query};
use crate::ui::{Button, Glyph, LinkButton, Segment, SelectField, SelectOption};
use leptos::prelude::*;
use model::failure::FailureState;
use model::views::choices::Choices;
use std::collections::BTreeMap;

/// The states; open ones with their count.
pub fn states(url: &PageUrl, open: String) -> Vec<Segment> {
    let current = url.get("state").unwrap_or("open").to_owned();
    let here = url.clone().settled().without("cursor").without("group").without("state");
    let segment = |value: &str, label: &str, count: Option<String>| Segment {
        href: if value == "open" { here.clone() } else { here.clone().with("state", value) }.to_string(),
        label: label.to_owned(),
        count,
        is_current: current == value,
    };
    let mut segments: Vec<_> = FailureState::ALL
        .iter()
        .copied()
        .map(|state| {
            let label = match state {
                FailureState::Open => "Open",
                FailureState::Snoozed => "Snoozed",
                FailureState::Fixed => "Fixed",
                FailureState::Over => "Over",
            };
            segment(state.as_str(), label, (state == FailureState::Open).then(|| open.clone()))
        })
        .collect();
    segments.push(segment("all", "All", None));
    segments
}

/// By app and integration.
#[component]
pub fn Filters(url: PageUrl, choices: Choices) -> impl IntoView {
    let value = |name: &str| url.get(name).unwrap_or_default().to_owned();
    let (app_id, integration_id) = (value("app_id"), value("integration_id"));
    let apps = options("All apps", choices.apps, choices.more_apps, &app_id);
    let integrations =
        options("All integrations", choices.integrations, choices.more_integrations, &integration_id);
    let state = url.get("state").map(str::to_owned);
    let clear = failure_query::is_narrowed(&url).then(|| {
        url.clone().settled().without("cursor").without("app_id").without("integration_id").to_string()
    });
    view! {
        <form method="get" action=base_path::current().join("/failures") class="filters" role="search" aria-label="Filter">
            {state.map(|state| view! { <input type="hidden" name="state" value=state /> })}
            <SelectField name="app_id" label="App" value=app_id options=apps />
            <SelectField name="integration_id" label="Integration" value=integration_id options=integrations />
            <div class="fit flex gap-2">
                <Button glyph=Glyph::Search>"Filter"</Button>
                {clear.map(|clear| view! { <LinkButton href=clear>"Clear"</LinkButton> })}
            </div>
        </form>
    }
    .into_any()
}

/// Sorted by name; the chosen one is an option even where the sample does not have it.
fn options<Id: ToString>(
    all: &str,
    names: BTreeMap<Id, String>,
    more: i64,
    chosen: &str,
) -> Vec<SelectOption> {
    let mut names: BTreeMap<_, _> = names.into_iter().map(|(id, name)| (id.to_string(), name)).collect();
    if !chosen.is_empty() {
        names.entry(chosen.to_owned()).or_insert_with(|| chosen.to_owned());
    }
    let mut options: Vec<_> = names.into_iter().map(|(id, name)| SelectOption::new(id, name)).collect();
    options.sort_by(|a, b| a.label.cmp(&b.label));
    options.insert(0, SelectOption::new("", all));
    options.extend(SelectOption::more(more, "open one from Integrations"));
    options
}
