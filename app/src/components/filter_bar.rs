//! Narrowing a list. A GET form: what it says stands in the address, and it needs no script.

use crate::{
    calls::names::Names,
    state::{
        base_path,
        page_url::PageUrl,
        url_filters::{self, label},
    },
    ui::{Button, Glyph, Icon, Link, LinkButton, SelectField, SelectOption, TextField},
};
use leptos::prelude::*;
use model::stats::Snapshot;
use std::collections::BTreeMap;

/// Search, integration, error; the other filters of the address are kept as hidden fields.
#[component]
pub fn FilterBar(
    /// The page with its filters.
    url: PageUrl,
    /// The page's path.
    path: &'static str,
    /// For the integrations to choose from.
    snapshot: Snapshot,
    /// The list's names: newer than the sample.
    names: Names,
) -> impl IntoView {
    let options = integration_options(&snapshot, &names);
    let value = |name: &str| url.get(name).unwrap_or_default().to_owned();
    let kept: Vec<_> = url_filters::active(&url)
        .into_iter()
        .filter(|(name, _)| !["q", "integration_id", "error"].contains(name))
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
        </form>
    }
    .into_any()
}

/// Filters of the address that no field shows, each with a cross that takes it away.
#[component]
pub fn FilterChips(
    /// The page with its filters.
    url: PageUrl,
    /// Parameters that are shown elsewhere.
    shown: &'static [&'static str],
    /// For names instead of ids.
    names: Names,
) -> impl IntoView {
    let chips: Vec<_> =
        url_filters::active(&url).into_iter().filter(|(name, _)| !shown.contains(name)).collect();
    (!chips.is_empty()).then(|| {
        let chips = chips
            .into_iter()
            .map(|(name, value)| {
                let words = in_words(name, &value, &names);
                let href = url.clone().settled().without(name).without("cursor").to_string();
                view! {
                    <Link
                        href=href
                        stay=true
                        class="inline-flex items-center gap-1.5 min-h-6 rounded-full border border-line bg-sunken px-2.5 type-label"
                        says=format!("Remove filter {words}")
                    >
                        {words}
                        <Icon glyph=Glyph::Cross size="w-[11px] h-[11px]" />
                    </Link>
                }
            })
            .collect_view();
        view! { <div class="flex flex-wrap gap-1.5 px-4 pb-3">{chips}</div> }
    })
}

/// Those of the sample, and those on the page.
fn integration_options(snapshot: &Snapshot, names: &Names) -> Vec<SelectOption> {
    let sampled = snapshot.integrations.iter().map(|i| (i.integration_id, &i.name, &i.app_name));
    let listed = names.iter().map(|(id, name)| (id, &name.name, &name.app_name));
    let by_id: BTreeMap<_, _> =
        sampled.chain(listed).map(|(id, name, app)| (id, format!("{name} · {app}"))).collect();
    let mut options: Vec<_> =
        by_id.into_iter().map(|(id, label)| SelectOption::new(id.to_string(), label)).collect();
    options.sort_by(|a, b| a.label.cmp(&b.label));
    options.insert(0, SelectOption::new("", "All integrations"));
    options
}

fn in_words(name: &str, value: &str, names: &Names) -> String {
    let app = || value.parse().ok().and_then(|id| names.app(id)).unwrap_or("a deleted app").to_owned();
    let shown = match name {
        "app_id" => app(),
        "fingerprint" => value.chars().take(10).collect(),
        _ => value.to_owned(),
    };
    format!("{}: {shown}", label(name))
}
