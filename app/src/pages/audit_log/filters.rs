//! Filters of the audit log: a GET form, so they are in the address.

use crate::components::deployment::audit_words;
use crate::state::audit_filters::{cleared, is_narrowed};
use crate::state::base_path;
use crate::state::page_url::PageUrl;
use crate::ui::{Button, Glyph, LinkButton, SelectField, SelectOption, TextField};
use leptos::prelude::*;
use model::text::capitalise;

#[component]
pub fn Filters(url: PageUrl) -> impl IntoView {
    let value = |name: &str| url.get(name).unwrap_or_default().to_owned();
    let mut actions = vec![SelectOption::new("", "Everything")];
    actions.extend(
        audit_words::ALL.iter().map(|words| SelectOption::new(words.action, capitalise(&words.sentence()))),
    );
    // Filters without a field are kept.
    let kept: Vec<_> = ["actor_id", "app_id", "object_kind"]
        .into_iter()
        .filter_map(|name| url.get(name).map(|value| (name, value.to_owned())))
        .collect();
    view! {
        <form method="get" action=base_path::current().join("/audit-log") class="filters" role="search" aria-label="Filter">
            {kept.into_iter().map(|(name, value)| view! { <input type="hidden" name=name value=value /> }).collect_view()}
            <SelectField name="action" label="What" value=value("action") options=actions />
            <TextField name="actor_name" label="Who" placeholder="e-mail address or key's name" value=value("actor_name") grow=true />
            <TextField name="object_id" label="About" placeholder="id of what was changed" value=value("object_id") grow=true />
            <TextField name="created_after" label="From (UTC)" kind="datetime-local" value=local(&value("created_after")) />
            <TextField name="created_before" label="Until (UTC)" kind="datetime-local" value=local(&value("created_before")) />
            <div class="fit flex gap-2">
                <Button glyph=Glyph::Search>"Filter"</Button>
                {is_narrowed(&url).then(|| view! { <LinkButton href=cleared(&url).to_string()>"Clear"</LinkButton> })}
            </div>
        </form>
    }
    .into_any()
}

/// A time as a `datetime-local` field takes it, whatever form it has in the address.
fn local(text: &str) -> String {
    text.parse::<chrono::DateTime<chrono::Utc>>()
        .map_or_else(|_| text.to_owned(), |at| at.format("%Y-%m-%dT%H:%M").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_shows_the_time_it_sent() {
        assert_eq!(local("2026-11-20T14:46"), "2026-11-20T14:46");
        assert_eq!(local("2026-11-20T14:46:10Z"), "2026-11-20T14:46");
        assert_eq!(local(""), "");
    }
}
