//! Is anything wrong, where, and until when?

use crate::{
    calls::stats::{Overview, load_overview, load_throughput},
    components::{
        Attention, Failure, Health, HealthBadge, LiveBadge, PageHead, Reader, RetryPyramid, ThroughputChart,
    },
    format,
    state::{live, page_url, refresh},
    ui::{Card, Delta, Link, Meter, Segment, Segmented, Skeleton, Table, Tile, Tone},
};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::{
    rules::permission::Permission,
    stats::{IntegrationGauge, Snapshot, Totals, Window},
};
use std::time::Duration;

/// The start page.
#[component]
pub fn OverviewPage() -> impl IntoView {
    let url = page_url::current();
    let window = Memo::new(move |_| {
        url.with(|url| url.get("window").and_then(|w| w.parse::<Window>().ok()).unwrap_or_default())
    });
    let first = Resource::new_blocking(move || window.get(), load_overview);
    let reader = Reader::current();
    view! {
        <Transition fallback=|| view! { <Skeleton height="h-40" /> }>
            {move || Suspend::new(async move {
                let may_configure = reader.get().await.is_ok_and(|r| r.may(Permission::Configure));
                match first.await {
                    Ok(first) => view! { <Content first=first window=window.get_untracked() may_configure=may_configure /> }.into_any(),
                    Err(error) => view! { <PageHead title="Overview" /><Failure error=error /> }.into_any(),
                }
            })}
        </Transition>
    }
}

#[component]
fn Content(first: Overview, window: Window, may_configure: bool) -> impl IntoView {
    let as_of = first.snapshot.at;
    let snapshot = live::current().or(first.snapshot);
    let newer = refresh::every(Duration::from_secs(10), move || load_throughput(window, None));
    let chart = Signal::derive(move || newer.get().unwrap_or_else(|| first.throughput.clone()));
    let segments: Vec<_> = Window::ALL
        .into_iter()
        .map(|choice| Segment {
            href: format!("/?window={}", choice.as_str()),
            label: window_label(choice).to_owned(),
            count: None,
            is_current: choice == window,
        })
        .collect();
    view! {
        <PageHead title="Overview" lede=Signal::derive(move || snapshot.with(lede))>
            <LiveBadge as_of=as_of />
            <Segmented label="Time window" segments=segments />
        </PageHead>
        <div class="stack">
            <Tiles snapshot=snapshot history=first.history />
            <div class="two">
                <Card
                    title="Needs attention"
                    sub="worst first"
                    more=("/integrations".to_owned(), "All integrations".to_owned())
                >
                    <Attention snapshot=snapshot may_configure=may_configure most=6 />
                </Card>
                <Card title="Retry pyramid" sub="waiting, by attempts made">
                    <RetryPyramid
                        steps=Signal::derive(move || snapshot.with(|s| s.retry_pyramid.clone()))
                        dead=Signal::derive(move || snapshot.with(|s| s.totals.dead_letters))
                    />
                </Card>
            </div>
            <ThroughputChart throughput=chart window=window />
            <Busiest snapshot=snapshot />
        </div>
    }
}

const fn window_label(window: Window) -> &'static str {
    match window {
        Window::Hour => "1 h",
        Window::Day => "24 h",
        Window::Week => "7 d",
    }
}

/// The page's answer in one sentence.
fn lede(snapshot: &Snapshot) -> String {
    let all = snapshot.integrations.len();
    let wrong = snapshot.integrations.iter().filter(|g| Health::of(g, snapshot.at).needs_attention()).count();
    let mut parts = vec![match (all, wrong) {
        (0, _) => "Nothing is connected yet".to_owned(),
        (_, 0) => format!("All **{all} integrations** are in sync or catching up by themselves"),
        (_, 1) => format!("**1 of {all} integrations** needs attention"),
        _ => format!("**{wrong} of {all} integrations** need attention"),
    }];
    if snapshot.workers == 0 {
        parts.push("**no worker is running**: jobs wait until one starts".to_owned());
    } else if let Some(eta) = eta(snapshot) {
        parts.push(format!("at this rate all waiting work is done in **{}**", format::eta(eta)));
    }
    parts.join(" · ")
}

/// The longest estimate of all that can be estimated; none when nothing waits.
fn eta(snapshot: &Snapshot) -> Option<i64> {
    snapshot.integrations.iter().filter(|g| g.backlog > 0).filter_map(|g| g.eta_seconds).max()
}

#[component]
fn Tiles(snapshot: Signal<Snapshot>, history: Vec<(DateTime<Utc>, Totals)>) -> impl IntoView {
    let history = StoredValue::new(history);
    let total = move |read: fn(&Totals) -> i64| Signal::derive(move || snapshot.with(|s| read(&s.totals)));
    // The line ends with what is now.
    let line = move |read: fn(&Totals) -> i64| {
        Signal::derive(move || {
            let now = snapshot.with(|s| read(&s.totals));
            history.with_value(|h| {
                h.iter().map(|(_, totals)| read(totals)).chain([now]).map(|n| n as f64).collect::<Vec<_>>()
            })
        })
    };
    let figure = move |value: Signal<i64>| Signal::derive(move || format::count(value.get()));
    let moved = move |read: fn(&Totals) -> i64, up_is_good: bool| {
        Signal::derive(move || {
            let now = snapshot.with(|s| (s.at, read(&s.totals)));
            history.with_value(|h| delta(h, now, read, up_is_good))
        })
    };
    let width = Signal::derive(move || {
        snapshot.with(|s| s.integrations.iter().map(|g| i64::from(g.max_concurrency)).sum::<i64>())
    });
    let backlog: fn(&Totals) -> i64 = |t| t.backlog;
    let processing: fn(&Totals) -> i64 = |t| t.processing;
    let delivered: fn(&Totals) -> i64 = |t| t.delivered_per_minute;
    let retried: fn(&Totals) -> i64 = |t| t.to_be_retried;
    let dead: fn(&Totals) -> i64 = |t| t.dead_letters;
    let oldest: fn(&Totals) -> i64 = |t| t.oldest_pending_age_seconds.unwrap_or(0);
    view! {
        <section class="tiles" aria-label="Now">
            <Tile
                tone=Tone::Waiting
                label="Backlog"
                figure=figure(total(backlog))
                delta=moved(backlog, false)
                history=line(backlog)
                href="/jobs?status=pending"
            />
            <Tile
                tone=Tone::Processing
                label="Processing"
                figure=figure(total(processing))
                delta=Signal::derive(move || Delta {
                    text: format!("{} at once allowed", format::count(width.get())),
                    is_good: None,
                })
                history=line(processing)
                href="/jobs?status=processing"
            />
            <Tile
                tone=Tone::Delivered
                label="Delivered"
                figure=figure(total(delivered))
                unit="/ min"
                delta=Signal::derive(move || {
                    let failed = snapshot.with(|s| s.totals.failed_per_minute);
                    Delta {
                        text: if failed == 0 {
                            "no failed attempt".to_owned()
                        } else {
                            format::counted(failed, "failed attempt", "failed attempts")
                        },
                        is_good: Some(failed == 0),
                    }
                })
                history=line(delivered)
                href="/jobs?status=completed"
            />
            <Tile
                tone=Tone::Retrying
                label="To be retried"
                figure=figure(total(retried))
                delta=moved(retried, false)
                history=line(retried)
                href="/jobs?status=to_be_retried"
            />
            <Tile
                tone=Tone::Failed
                label="Dead letters"
                figure=figure(total(dead))
                delta=moved(dead, false)
                history=line(dead)
                href="/dead-letters"
            />
            <Tile
                tone=Tone::Limited
                label="Oldest pending"
                figure=Signal::derive(move || {
                    snapshot
                        .with(|s| s.totals.oldest_pending_age_seconds)
                        .map_or_else(|| "–".to_owned(), format::age_seconds)
                })
                delta=Signal::derive(move || {
                    let peak = history.with_value(|h| h.iter().map(|(_, t)| oldest(t)).max().unwrap_or(0));
                    Delta {
                        text: if peak > 0 { format!("peak {}", format::age_seconds(peak)) } else { String::new() },
                        is_good: None,
                    }
                })
                history=line(oldest)
                href="/jobs?status=pending"
            />
        </section>
    }
}

/// The change over the last five minutes.
fn delta(
    history: &[(DateTime<Utc>, Totals)],
    (at, now): (DateTime<Utc>, i64),
    read: fn(&Totals) -> i64,
    up_is_good: bool,
) -> Delta {
    let Some((then, totals)) =
        history.iter().rev().find(|(then, _)| at - *then >= chrono::TimeDelta::minutes(5))
    else {
        return Delta::default();
    };
    let change = now - read(totals);
    let minutes = (at - *then).num_minutes();
    match change {
        0 => Delta { text: format!("steady for {minutes} min"), is_good: None },
        change => {
            let sign = if change > 0 { "+" } else { "−" };
            let text = format!("{sign}{} in {minutes} min", format::compact(change.abs() as f64));
            Delta { text, is_good: Some((change > 0) == up_is_good) }
        }
    }
}

/// Integrations with work, a limit or a fault, worst first.
#[component]
fn Busiest(snapshot: Signal<Snapshot>) -> impl IntoView {
    const MOST: usize = 12;
    let rows = Memo::new(move |_| {
        snapshot.with(|s| {
            let mut rows: Vec<_> = s.integrations.iter().map(|g| (Health::of(g, s.at), g.clone())).collect();
            rows.sort_by(|a, b| {
                b.0.severity
                    .cmp(&a.0.severity)
                    .then(b.1.backlog.cmp(&a.1.backlog))
                    .then_with(|| a.1.name.cmp(&b.1.name))
            });
            rows.truncate(MOST);
            rows
        })
    });
    let most =
        Memo::new(move |_| rows.with(|rows| rows.iter().map(|(_, g)| g.backlog).max().unwrap_or(0)).max(1));
    let sub = Signal::derive(move || {
        let all = snapshot.with(|s| s.integrations.len());
        if all > MOST { format!("{MOST} of {all}, worst first") } else { "worst first".to_owned() }
    });
    view! {
        <Card title="Integrations" sub=sub more=("/integrations".to_owned(), "Open table".to_owned())>
            <Table label="Integrations" head=head>
                <For
                    each=move || rows.get()
                    key=|(_, gauge)| gauge.integration_id
                    children=move |(health, gauge)| {
                        let id = gauge.integration_id;
                        let row = Memo::new(move |last: Option<&(Health, IntegrationGauge)>| {
                            rows.with(|rows| rows.iter().find(|(_, g)| g.integration_id == id).cloned())
                                .or_else(|| last.cloned())
                                .unwrap_or_else(|| (health.clone(), gauge.clone()))
                        });
                        view! { <GaugeRow row=row most=most /> }
                    }
                />
            </Table>
        </Card>
    }
}

pub(super) fn head() -> impl IntoView {
    view! {
        <th scope="col">"Integration"</th>
        <th scope="col">"State"</th>
        <th scope="col" class="n">"Backlog"</th>
        <th scope="col" class="n">"Done in"</th>
        <th scope="col" class="n">"Out / min"</th>
        <th scope="col" class="n">"Processing"</th>
        <th scope="col">"Limit"</th>
        <th scope="col" class="n">"Failing"</th>
        <th scope="col" class="n">"Oldest"</th>
        <th scope="col">"Last error"</th>
    }
}

/// One integration's gauges; each cell changes by itself.
#[component]
pub(super) fn GaugeRow(
    /// Judgement and gauges.
    row: Memo<(Health, IntegrationGauge)>,
    /// The largest backlog of the table, a full bar.
    #[prop(into)]
    most: Signal<i64>,
) -> impl IntoView {
    let (id, name, about) = row.with_untracked(|(_, g)| {
        (g.integration_id, g.name.clone(), format!("{} · {}", g.app_name, g.integration_type.as_str()))
    });
    let read = move |read: fn(&IntegrationGauge) -> String| move || row.with(|(_, g)| read(g));
    let backlog = Signal::derive(move || row.with(|(_, g)| g.backlog));
    let share = Signal::derive(move || backlog.get() as f64 / most.get() as f64);
    let zero = move |value: fn(&IntegrationGauge) -> bool| {
        move || if row.with(|(_, g)| value(g)) { "n zero" } else { "n" }
    };
    let failing = Signal::derive(move || {
        row.with(|(_, g)| {
            let tried = g.delivered_per_minute + g.failed_per_minute;
            (tried > 0).then(|| g.failed_per_minute as f64 / tried as f64)
        })
    });
    view! {
        <tr>
            <td>
                <Link href=format!("/integrations/{id}") class="font-semibold hover:underline">
                    {name}
                </Link>
                " "
                <span class="type-label text-faint">{about}</span>
            </td>
            <td>
                <HealthBadge health=Signal::derive(move || row.get().0) />
            </td>
            <td class=zero(|g| g.backlog == 0)>
                <Meter share=share tone=Tone::Waiting />
                {move || format::count(backlog.get())}
            </td>
            <td class=zero(|g| g.eta_seconds.is_none())>
                {read(|g| match g.eta_seconds {
                    Some(eta) if g.backlog > 0 => format::eta(eta),
                    _ => "–".to_owned(),
                })}
            </td>
            <td class=zero(|g| g.delivered_per_minute == 0)>{read(|g| format::count(g.delivered_per_minute))}</td>
            <td class=zero(|g| g.processing == 0)>
                {read(|g| format!("{} / {}", format::count(g.processing), format::count(g.max_concurrency.into())))}
            </td>
            <td>
                <crate::components::RateLimitUseMeter usage=Signal::derive(move || row.with(|(_, g)| g.rate_limit)) />
            </td>
            <td class=move || match failing.get() {
                Some(share) if share >= 0.3 => "n text-failed font-semibold",
                Some(share) if share > 0.0 => "n",
                _ => "n zero",
            }>{move || failing.get().map_or_else(|| "–".to_owned(), format::percent)}</td>
            <td class=zero(|g| {
                g.oldest_pending_age_seconds.is_none()
            })>{read(|g| g.oldest_pending_age_seconds.map_or_else(|| "–".to_owned(), format::age_seconds))}</td>
            <td class="clip text-muted">
                {read(|g| {
                    g.last_error.as_ref().map_or_else(|| "–".to_owned(), |e| e.message.lines().next().unwrap_or("–").to_owned())
                })}
            </td>
        </tr>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delta_is_told_against_five_minutes_ago() {
        let now: DateTime<Utc> = "2026-11-20T12:00:00Z".parse().expect("a time");
        let then = now - chrono::TimeDelta::minutes(6);
        let totals = Totals { backlog: 100, ..Totals::default() };
        let history = [(then, totals), (now, totals)];
        for (value, text, is_good) in [
            (100, "steady for 6 min", None),
            (2_000, "+1.9 k in 6 min", Some(false)),
            (40, "−60 in 6 min", Some(true)),
        ] {
            let got = delta(&history, (now, value), |t| t.backlog, false);
            assert_eq!(got, Delta { text: text.to_owned(), is_good });
        }
        assert_eq!(delta(&[], (now, 1), |t| t.backlog, false), Delta::default());
    }
}
