//! An integration in a row of a list: its name as a link, and its app.

use crate::ui::Link;
use leptos::prelude::*;
use model::id::IntegrationId;
use model::views::names::Names;

/// Name and app. Jobs outlive their integration: a deleted one is called that and has no link.
#[component]
pub fn IntegrationLink(
    id: IntegrationId,
    /// The list's names.
    names: Names,
    /// The row is about this integration.
    #[prop(optional)]
    is_subject: bool,
    /// In a sentence, where colour alone does not mark a link.
    #[prop(optional)]
    in_text: bool,
) -> impl IntoView {
    let class = match (is_subject, in_text) {
        (true, _) => "font-semibold hover:underline",
        (false, true) => "underline",
        (false, false) => "hover:underline",
    };
    let name = names.of(id).cloned();
    match name {
        Some(name) => view! {
            <Link href=format!("/integrations/{id}") class=class>
                {name.name}
            </Link>
            " "
            <span class="type-label text-faint">{name.app_name}</span>
        }
        .into_any(),
        None => view! {
            <span class="text-faint" title=id.to_string()>
                "deleted integration"
            </span>
        }
        .into_any(),
    }
}
