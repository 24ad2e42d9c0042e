//! Integrations as rows: state, backlog, rate, limit, failures.

use super::gauge_words::{self, alarming, oldest};
use crate::components::{HealthBadge, Judged, RateLimitUseMeter};
use crate::format;
use crate::ui::{Link, Meter, Table, Tone, data_label};
use leptos::prelude::*;
use model::rules::plain_cause;
use model::stats::IntegrationGauge;

/// The table that holds [`GaugeRow`]s.
#[component]
pub fn GaugeTable(children: Children) -> impl IntoView {
    view! {
        <Table label="Integrations" stacks=true head=head>
            {children()}
        </Table>
    }
    .into_any()
}

fn head() -> impl IntoView {
    view! {
        <th scope="col">"Integration"</th>
        <th scope="col">"State"</th>
        <th scope="col" class="n">"Backlog"</th>
        <th scope="col" class="n">"Clears in"</th>
        <th scope="col" class="n">"Out / min"</th>
        <th scope="col" class="n" title="95th percentile of attempt duration, last 5 minutes">"p95"</th>
        <th scope="col" class="n">"Processing"</th>
        <th scope="col">"Limit"</th>
        <th scope="col" class="n">"Failing"</th>
        <th scope="col" class="n">"Oldest"</th>
        <th scope="col" class="grow">
            <span class="block min-w-[150px]">"Last error"</span>
        </th>
    }
}

/// One integration's gauges; each cell updates by itself.
#[component]
pub fn GaugeRow(
    row: Memo<Judged>,
    /// The table's largest backlog: a full bar.
    #[prop(into)]
    max_backlog: Signal<i64>,
) -> impl IntoView {
    let (id, name, about) =
        row.with_untracked(|(_, g)| (g.integration_id, g.name.clone(), gauge_words::about(g)));
    let read = move |read: fn(&IntegrationGauge) -> String| move || row.with(|(_, g)| read(g));
    let backlog = Signal::derive(move || row.with(|(_, g)| g.backlog));
    let share = Signal::derive(move || backlog.get() as f64 / max_backlog.get() as f64);
    let zero = move |value: fn(&IntegrationGauge) -> bool| {
        move || if row.with(|(_, g)| value(g)) { "n zero" } else { "n" }
    };
    let failing = Signal::derive(move || row.with(|(_, g)| gauge_words::failing(g)));
    let error = Memo::new(move |_| {
        row.with(|(_, g)| {
            let error = g.last_error.as_ref();
            error.map(|e| plain_cause::sentence(&e.message, e.response_status)).unwrap_or_default()
        })
    });
    view! {
        <tr>
            <td class="what">
                <Link href=format!("/integrations/{id}") class="font-semibold hover:underline">
                    {name}
                </Link>
                " "
                <span class="type-label text-faint">{about}</span>
            </td>
            <td class="state">
                <HealthBadge health=Signal::derive(move || row.get().0) />
            </td>
            <td class=zero(|g| g.backlog == 0) {..data_label("backlog")}>
                <Meter share=share tone=Tone::Waiting />
                <span class="inline-block min-w-[42px]">{move || format::count(backlog.get())}</span>
            </td>
            <td class=zero(|g| g.eta_seconds.is_none() || g.backlog == 0) {..data_label("clears in")}>
                {read(|g| match g.eta_seconds {
                    Some(eta) if g.backlog > 0 => format::eta(eta),
                    _ => "–".to_owned(),
                })}
            </td>
            <td class=zero(|g| g.delivered_per_minute == 0) {..data_label("out / min")}>{read(|g| format::count(g.delivered_per_minute))}</td>
            <td class=zero(|g| g.latency.is_none()) {..data_label("p95")}>
                {read(|g| g.latency.map_or_else(|| "–".to_owned(), |latency| format::milliseconds(latency.p95_ms)))}
            </td>
            <td class=zero(|g| g.processing == 0) {..data_label("processing")}>
                {read(|g| format::of_max(g.processing, g.max_concurrency.into()))}
            </td>
            <td class=move || if row.with(|(_, g)| g.rate_limit.is_some()) { "first" } else { "first zero" } {..data_label("limit")}>
                <RateLimitUseMeter usage=Signal::derive(move || row.with(|(_, g)| g.rate_limit)) />
            </td>
            <td class=move || alarming(failing.get()) {..data_label("failing")}>{move || failing.get().map_or_else(|| "–".to_owned(), format::percent)}</td>
            <td class=zero(|g| oldest(g).is_none()) {..data_label("oldest")}>{read(|g| oldest(g).map_or_else(|| "–".to_owned(), format::age_seconds))}</td>
            <td
                class=move || if error.with(String::is_empty) { "grow rest zero" } else { "grow rest text-muted" }
                title=move || error.get()
            >
                {move || error.with(|text| if text.is_empty() { "–".to_owned() } else { text.clone() })}
            </td>
        </tr>
    }
    .into_any()
}
