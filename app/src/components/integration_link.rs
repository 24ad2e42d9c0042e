//! An integration in a row of a list: its name, a link to it, and whose it is.

use crate::{calls::names::Names, ui::Link};
use leptos::prelude::*;
use model::id::IntegrationId;

/// Name and app. Jobs outlive their integration: one that was deleted is called that and leads nowhere.
#[component]
pub fn IntegrationLink(
    /// Which.
    id: IntegrationId,
    /// The list's names.
    names: Names,
    /// The row is about it.
    #[prop(optional)]
    is_subject: bool,
    /// It stands in a sentence, where colour alone does not tell a link.
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
