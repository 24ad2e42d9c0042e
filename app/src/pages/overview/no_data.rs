//! The overview of a time that has no numbers.

use super::time_travel::Choice;
use crate::calls::error::ResponseStatus;
use crate::components::PageHead;
use crate::components::page_table::ConsolePage;
use crate::format;
use crate::state::page_url::PageUrl;
use crate::ui::{EmptyState, Glyph, LinkButton, Tone};
use chrono::{DateTime, Utc};
use leptos::prelude::*;

#[component]
pub fn NotRecorded(
    at: DateTime<Utc>,
    nearest: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
    here: PageUrl,
) -> impl IntoView {
    ResponseStatus::set(404);
    let here = here.settled();
    let text = match nearest {
        _ if at > now => "That minute is in the future.",
        _ if now - at > chrono::TimeDelta::hours(25) => "Minutes are kept for a day.",
        Some(_) => "No process took samples then, so nothing is known about that minute.",
        None => "No data yet. The first minute is recorded within a minute.",
    };
    let nearest_link = nearest.map(|nearest| {
        let href = here.clone().with("at", format::minute(nearest)).to_string();
        view! { <LinkButton href=href>{format!("Nearest: {}", format::moment(nearest))}</LinkButton> }
    });
    let live = here.clone().without("at").to_string();
    view! {
        <PageHead title=ConsolePage::Overview.title() headline=format!("No data for **{}**", format::moment(at)) />
        <section class="card" aria-label="Nothing recorded">
            <EmptyState glyph=Glyph::Clock title=format!("Nothing was recorded at {}", format::moment(at)) text=text>
                {nearest_link}
                <LinkButton href=live>"Now"</LinkButton>
            </EmptyState>
        </section>
        <section class="card travel mt-3" aria-label="Time travel">
            <Choice at=nearest.unwrap_or(now) now=now here=here is_past=true />
        </section>
    }
    .into_any()
}

#[component]
pub fn Unreadable(text: String, here: PageUrl) -> impl IntoView {
    ResponseStatus::set(422);
    let says = format!("“{text}” is not a time. Write it as 2026-11-22T06:13Z, in UTC.");
    view! {
        <PageHead title=ConsolePage::Overview.title() />
        <section class="card" aria-label="This URL is not valid">
            <EmptyState glyph=Glyph::Alert tone=Tone::Retrying title="This URL is not valid" text=says>
                <LinkButton href=here.settled().without("at").to_string()>"Now"</LinkButton>
            </EmptyState>
        </section>
    }
    .into_any()
}
