//! How an integration's limits were used, by the minute and over a day, and what another limit would do.

use crate::components::{LimitStrip, WhatIf};
use crate::format;
use crate::state::page_url::PageUrl;
use crate::state::what_if::Load;
use crate::ui::Card;
use leptos::prelude::*;
use model::{id::IntegrationId, limit_use::LimitUse, views::rate_limits::LimitRow};

/// Without a limit, only the question what one would do.
#[component]
pub fn LimitsUse(
    id: IntegrationId,
    /// Each limit over the last hour, and over the last day in the same order.
    limits: Memo<(Vec<LimitRow>, Vec<LimitRow>)>,
    /// The present backlog and rates, live.
    #[prop(into)]
    load: Signal<Load>,
    /// The page with the what-if question in its address.
    url: PageUrl,
) -> impl IntoView {
    if limits.with_untracked(|(hour, _)| hour.is_empty()) {
        return view! {
            <Card title="Rate limit" sub="no limit">
                <WhatIf url=url load=load />
            </Card>
        }
        .into_any();
    }
    // An edited limit is another limit; a change of use is not.
    let kinds = Memo::new(move |_| {
        limits.with(|(hour, _)| hour.iter().map(|row| (row.requests, row.per_seconds)).collect::<Vec<_>>())
    });
    view! {
        <Card
            title="Rate limit"
            sub="darker: more used; hatched: 429 below the limit; black: edited"
            more=("/rate-limits".to_owned(), "All limits".to_owned())
        >
            <For
                each=move || kinds.get().into_iter().enumerate()
                key=|kind| *kind
                children=move |(at, _)| view! { <Strips id=id limits=limits at=at /> }
            />
            <WhatIf url=url load=load />
        </Card>
    }
    .into_any()
}

/// One limit: the last hour and the last day.
#[component]
fn Strips(id: IntegrationId, limits: Memo<(Vec<LimitRow>, Vec<LimitRow>)>, at: usize) -> impl IntoView {
    let (limit, others) = limits.with_untracked(|(hour, _)| {
        let row = hour.get(at);
        let limit = row.map(|row| format::limit(row.requests.into(), row.per_seconds.into()));
        let members = row.iter().flat_map(|row| &row.members);
        let others: Vec<_> =
            members.filter(|(member, _)| *member != id).map(|(_, name)| name.clone()).collect();
        (limit, others)
    });
    let shared = (!others.is_empty()).then(|| {
        let first = others.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
        let more = others.len().saturating_sub(5);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        format!("shared with {first}{more}")
    });
    let used =
        move |rows: &[LimitRow]| rows.get(at).map(|row| LimitUse::from(&row.cells)).unwrap_or_default();
    let hour = Signal::derive(move || limits.with(|(hour, _)| used(hour)));
    let day = Signal::derive(move || limits.with(|(_, day)| used(day)));
    view! {
        <div class="grid gap-2 px-4 py-2">
            <p>
                <b class="font-semibold">{limit}</b>
                " "
                <span class="text-muted">{shared}</span>
            </p>
            <LimitStrip used=hour captioned=true />
            <LimitStrip used=day captioned=true />
        </div>
    }
    .into_any()
}
