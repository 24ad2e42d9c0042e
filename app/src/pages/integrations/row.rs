//! One row of the list of integrations.

use crate::components::integrations::gauge_words::{self, alarming, oldest};
use crate::components::{HealthBadge, HealthText, RateLimitUseMeter, eta_words};
use crate::format;
use crate::ui::{CheckField, Link, Sparkline, Tone};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::stats::{IntegrationGauge, Snapshot};
use model::views::integration_list::IntegrationRow;

/// Each cell updates by itself, and the row keeps its place.
#[component]
pub fn Row(
    /// As loaded, and loaded again every few seconds for its history; when it was sampled.
    row: Memo<(DateTime<Utc>, IntegrationRow)>,
    /// The streamed gauges.
    live: Signal<Option<Snapshot>>,
    /// Whether the row can be selected.
    may_select: bool,
) -> impl IntoView {
    let (id, name, about) = row.with_untracked(|(_, row)| {
        (row.gauge.integration_id, row.gauge.name.clone(), gauge_words::about(&row.gauge))
    });
    let judged = Memo::new(move |_| {
        let loaded_at = row.with(|(at, _)| *at);
        let streamed = live.with(|live| {
            let live = live.as_ref().filter(|live| live.at >= loaded_at)?;
            let at = live.integrations.binary_search_by_key(&id, |gauge| gauge.integration_id).ok()?;
            Some((live.at, live.integrations.get(at)?.clone()))
        });
        let (at, gauge) = streamed.unwrap_or_else(|| row.with(|(at, row)| (*at, row.gauge.clone())));
        (HealthText::of(&gauge, at), gauge)
    });
    let read = move |read: fn(&IntegrationGauge) -> String| move || judged.with(|(_, g)| read(g));
    let class = move |is_zero: fn(&IntegrationGauge) -> bool| {
        move || if judged.with(|(_, g)| is_zero(g)) { "n zero" } else { "n" }
    };
    let failing = Memo::new(move |_| judged.with(|(_, g)| gauge_words::failing(g)));
    let refused = Memo::new(move |_| judged.with(|(_, g)| g.refused_share));
    let share = |share: Option<f64>| share.map_or_else(|| "–".to_owned(), format::percent);
    let backlogs = Memo::new(move |_| {
        row.with(|(_, row)| row.backlogs.iter().map(|n| Some(*n as f64)).collect::<Vec<_>>())
    });
    let sparks = format!("Backlog of {name} over the last hour");
    view! {
        <tr>
            {may_select
                .then(|| {
                    view! {
                        <td class="tick">
                            <CheckField name="ids[]" value=id.to_string() label=format!("Select {name}") bare=true form="chosen" />
                        </td>
                    }
                })}
            <td class="what">
                <Link href=format!("/integrations/{id}") class="font-semibold hover:underline">
                    {name.clone()}
                </Link>
                " "
                <span class="block type-label text-faint">{about}</span>
            </td>
            <td class="state">
                <HealthBadge health=Signal::derive(move || judged.get().0) />
            </td>
            <td class=class(|g| g.backlog == 0) data-label="backlog">
                <span class=format!("spark {}", Tone::Waiting.class())>
                    <Sparkline values=backlogs label=Signal::stored(sparks) />
                </span>
                <span class="inline-block min-w-[42px]">{read(|g| format::count(g.backlog))}</span>
            </td>
            <td class=move || if judged.with(|(_, g)| eta_words(g) == "–") { "n zero" } else { "n" } data-label="clears in">
                {read(eta_words)}
            </td>
            <td class=class(|g| g.accepted_per_minute.unwrap_or(0) == 0) data-label="in / min">
                {read(|g| g.accepted_per_minute.map_or_else(|| "–".to_owned(), |n| if n == 0 { "0".to_owned() } else { format!("~{}", format::count(n)) }))}
            </td>
            <td class=class(|g| g.delivered_per_minute == 0) data-label="out / min">
                {read(|g| format::count(g.delivered_per_minute))}
            </td>
            <td
                class=move || if judged.with(|(_, g)| g.rate_limit.is_some()) { "first" } else { "first zero" }
                data-label="limit"
            >
                <RateLimitUseMeter usage=Signal::derive(move || judged.with(|(_, g)| g.rate_limit)) />
            </td>
            <td class=class(|g| g.latency.is_none()) data-label="p95">
                {read(|g| g.latency.map_or_else(|| "–".to_owned(), |latency| format::milliseconds(latency.p95_ms)))}
            </td>
            <td class=move || alarming(failing.get()) data-label="failing">{move || share(failing.get())}</td>
            <td class=move || alarming(refused.get()) data-label="429">{move || share(refused.get())}</td>
            <td class=class(|g| g.dead_letters == 0) data-label="dead letters">
                {read(|g| format::count(g.dead_letters))}
            </td>
            <td class=class(|g| oldest(g).is_none()) data-label="oldest">
                {read(|g| oldest(g).map_or_else(|| "–".to_owned(), format::age_seconds))}
            </td>
        </tr>
    }
    .into_any()
}
