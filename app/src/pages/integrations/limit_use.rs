//! How the limits of an integration were used, by the minute and over a day, and what another one would do.

use crate::{
    calls::rate_limits::LimitRow,
    components::{LimitStrip, WhatIf},
    format,
    state::{page_url::PageUrl, what_if::Load},
    ui::Card,
};
use leptos::prelude::*;
use model::{id::IntegrationId, limit_use::LimitUse};

/// The card; nothing without a limit.
#[component]
pub fn LimitsUse(
    /// Whose.
    id: IntegrationId,
    /// Each limit over the last hour.
    hour: Vec<LimitRow>,
    /// And over the last day, in the same order.
    day: Vec<LimitRow>,
    /// The work that waits, live.
    #[prop(into)]
    load: Signal<Load>,
    /// The page with its question.
    url: PageUrl,
) -> impl IntoView {
    if hour.is_empty() {
        return view! {
            <Card title="Rate limit" sub="none">
                <WhatIf url=url load=load />
            </Card>
        }
        .into_any();
    }
    let strips = hour
        .into_iter()
        .zip(day)
        .map(|(hour, day)| {
            let others =
                hour.members.iter().filter(|(member, _)| *member != id).map(|(_, name)| name.clone());
            let others: Vec<_> = others.take(5).collect();
            let shared = (!others.is_empty()).then(|| format!("shared with {}", others.join(", ")));
            let limit = format::limit(hour.requests.into(), hour.per_seconds.into());
            let (hour, day) = (LimitUse::from(&hour.cells), LimitUse::from(&day.cells));
            view! {
                <div class="grid gap-2 px-4 py-2">
                    <p>
                        <b class="font-semibold">{limit}</b>
                        " "
                        <span class="text-muted">{shared}</span>
                    </p>
                    <LimitStrip used=Signal::stored(hour) captioned=true />
                    <LimitStrip used=Signal::stored(day) captioned=true />
                </div>
            }
        })
        .collect_view();
    view! {
        <Card
            title="Rate limit"
            sub="darker: more of it used; hatched: they answered 429 below it; black: edited"
            more=("/rate-limits".to_owned(), "All limits".to_owned())
        >
            {strips}
            <WhatIf url=url load=load />
        </Card>
    }
    .into_any()
}
