//! The limits of one integration, edited on the wall, with what another limit would do.

use crate::{
    calls::rate_limits::LimitWall,
    components::WhatIf,
    pages::LimitsForm,
    state::{page_url::PageUrl, what_if::Load},
    ui::{Card, LinkButton},
};
use leptos::prelude::*;
use model::integration::Integration;

/// The card.
#[component]
pub fn Editor(
    /// Whose.
    integration: Integration,
    /// The newest numbers.
    wall: Memo<LimitWall>,
    /// The page with its question.
    url: PageUrl,
    /// The page without.
    back: PageUrl,
) -> impl IntoView {
    let id = integration.id;
    let load = Memo::new(move |_| {
        wall.with(|wall| {
            let row = wall.rows.iter().find(|row| row.members.iter().any(|(member, _)| *member == id));
            row.map(|row| Load { outstanding: row.outstanding, accepted_per_minute: row.accepted_per_minute })
                .unwrap_or_default()
        })
    });
    let shared = integration.rate_limit_key.as_ref().map(|key| {
        format!(
            "The rate limit holds for all integrations that share it as {key}; the rest is of this one alone."
        )
    });
    let close = back.to_string();
    view! {
        <div id="edit">
            <Card title=format!("Limits of {}", integration.name) sub="hold from the next request on">
                {shared.map(|text| view! { <p class="px-4 pt-1 text-muted">{text}</p> })}
                <WhatIf url=url load=load />
                <LimitsForm integration=integration back=back.to_string() />
                <p class="px-4 pb-4">
                    <LinkButton href=close>"Leave as it is"</LinkButton>
                </p>
            </Card>
        </div>
    }
    .into_any()
}
