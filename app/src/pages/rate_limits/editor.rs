//! The form for the limits of one integration, with what another limit would do.

use crate::components::WhatIf;
use crate::pages::LimitsForm;
use crate::state::page_url::PageUrl;
use crate::state::what_if::Load;
use crate::ui::{Card, LinkButton};
use leptos::prelude::*;
use model::{integration::Integration, views::rate_limits::LimitList};

#[component]
pub fn Editor(
    integration: Integration,
    /// The newest numbers.
    list: Memo<LimitList>,
    /// The page with the what-if question in its address.
    url: PageUrl,
    /// The page without the form.
    back: PageUrl,
) -> impl IntoView {
    let id = integration.id;
    let load = Memo::new(move |_| {
        list.with(|list| {
            let row = list.rows.iter().find(|row| row.members.iter().any(|(member, _)| *member == id));
            row.map(|row| Load { outstanding: row.outstanding, accepted_per_minute: row.accepted_per_minute })
                .unwrap_or_default()
        })
    });
    let shared = integration.rate_limit_key.as_ref().map(|key| {
        format!(
            "The rate limit applies to all integrations that share the key {key}; the other settings only to this one."
        )
    });
    let close = back.to_string();
    view! {
        <div id="edit">
            <Card title=format!("Limits of {}", integration.name) sub="apply from the next request">
                {shared.map(|text| view! { <p class="px-4 pt-1 text-muted">{text}</p> })}
                <WhatIf url=url load=load />
                <LimitsForm integration=integration back=back.to_string() />
                <p class="px-4 pb-4">
                    <LinkButton href=close>"Close"</LinkButton>
                </p>
            </Card>
        </div>
    }
    .into_any()
}
