//! Filters of the list of integrations. A GET form: they are in the address, and need no script.

use crate::state::base_path;
use crate::state::page_url::PageUrl;
use crate::ui::{Button, Glyph, LinkButton, SelectField, SelectOption, TextField};
use leptos::prelude::*;
use model::id::AppId;
use model::integration::IntegrationType;
use model::integration_query::{Group, IntegrationQuery};

#[component]
pub fn Filter(query: IntegrationQuery, here: PageUrl, apps: Vec<(AppId, String)>) -> impl IntoView {
    let value = |name: &str| here.get(name).unwrap_or_default().to_owned();
    let kept = ["only", "sort", "dir"].map(|name| (name, value(name)));
    let choices: Vec<_> = std::iter::once(SelectOption::new("", "All apps"))
        .chain(apps.iter().map(|(id, name)| SelectOption::new(id.to_string(), name.clone())))
        .collect();
    let kinds: Vec<_> = std::iter::once(SelectOption::new("", "All types"))
        .chain(IntegrationType::ALL.iter().map(|kind| SelectOption::new(kind.as_str(), kind.as_str())))
        .collect();
    let groups = vec![
        SelectOption::new("", "None"),
        SelectOption::new(Group::App.as_str(), "App"),
        SelectOption::new(Group::Type.as_str(), "Type"),
    ];
    // With too many apps to choose from, one chosen by a link is kept.
    let has_apps = !apps.is_empty();
    let (app_id, kept_app) = (value("app_id"), (!has_apps).then(|| value("app_id")));
    view! {
        <form method="get" action=base_path::current().join("/integrations") class="filters" role="search" aria-label="Filter">
            {kept.into_iter().map(|(name, value)| view! { <input type="hidden" name=name value=value /> }).collect_view()}
            {kept_app.map(|value| view! { <input type="hidden" name="app_id" value=value /> })}
            <TextField name="name" label="Name" kind="search" placeholder="integration or app" value=value("name") grow=true />
            {has_apps.then(|| view! { <SelectField name="app_id" label="App" value=app_id options=choices /> })}
            <SelectField name="type" label="Type" value=query.kind.map(IntegrationType::as_str).unwrap_or_default().to_owned() options=kinds />
            <SelectField name="group" label="Group by" value=query.group.map(Group::as_str).unwrap_or_default().to_owned() options=groups />
            <div class="fit flex gap-2">
                <Button glyph=Glyph::Search>"Filter"</Button>
                <LinkButton href="/integrations">"Clear"</LinkButton>
            </div>
        </form>
    }
    .into_any()
}
