//! One integration: its health, its numbers, and what can be done about it.

use super::{
    activity::Activity, failures::Failures, limit_use::LimitsUse, limits_form::LimitsForm,
    recent_jobs::RecentJobs, resyncs::Resyncs, settings::Settings,
};
use crate::{
    calls::{
        error::CallError,
        integrations::{
            PauseIntegration, ResumeIntegration, SteerBreaker, load_integration, load_integration_charts,
        },
    },
    components::{
        AnswersCard, BreakerPanel, FlowChart, HealthBadge, HealthText, LatencyCard, LiveBadge, Loaded,
        PageHead, RetryPyramid, RichText, ThroughputChart, window_segments,
    },
    format,
    state::{
        clock, live, opened,
        page_url::{self, PageUrl},
        refresh, revision,
        what_if::Load,
    },
    ui::{
        Button, ButtonKind, Card, ChartCursor, Glyph, HiddenFields, Link, LinkButton, PostForm, ProgressBar,
        Segmented, Sparkline, Tone,
    },
};
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;
use model::{
    breaker::{Breaker, BreakerState},
    id::IntegrationId,
    integration::{Integration, IntegrationState, IntegrationType},
    opened::Opened,
    rules::permission::Permission,
    stats::{IntegrationGauge, Window},
    views::integration_page::IntegrationPage,
};
use std::time::Duration;

#[component]
pub fn IntegrationDetailPage() -> impl IntoView {
    let params = use_params_map();
    let url = page_url::current();
    let asked = Memo::new(move |_| {
        let id = params.read().get("id").and_then(|id| id.parse::<IntegrationId>().ok());
        let window =
            url.with(|url| url.get("window").and_then(|w| w.parse::<Window>().ok()).unwrap_or_default());
        // A notice means that something was changed: the page loads again.
        (id, window, url.with(|url| url.get("notice").map(str::to_owned)))
    });
    let revision = revision::current();
    let page = Resource::new_blocking(
        move || (asked.get(), revision.get()),
        |((id, window, _), _)| async move {
            match id {
                Some(id) => load_integration(id, window).await,
                None => Err(CallError::NotFound),
            }
        },
    );
    view! {
        <Loaded
            title="Integrations"
            data=page
            show=move |page, reader| {
                let may = move |permission| reader.as_ref().is_some_and(|r| r.may(permission));
                let rights = Rights {
                    configure: may(Permission::Configure),
                    resync: may(Permission::Resync),
                    steer_jobs: may(Permission::SteerJobs),
                };
                view! { <Content page=page window=asked.get_untracked().1 rights=rights /> }.into_any()
            }
        />
    }
    .into_any()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rights {
    configure: bool,
    resync: bool,
    steer_jobs: bool,
}

#[component]
fn Content(page: IntegrationPage, window: Window, rights: Rights) -> impl IntoView {
    let IntegrationPage {
        integration,
        status,
        gauge,
        charts: first_charts,
        backlogs,
        activity,
        jobs,
        failures,
        resyncs,
        flips,
        as_of,
    } = page;
    ChartCursor::provide();
    let id = integration.id;
    let here = format!("/integrations/{id}");
    let snapshot = live::current().snapshot();
    let pushed = opened::follow::<IntegrationGauge>(Opened::Integration(id));
    // The newest of the streamed gauges, once they are newer than the page: those of each second, and those pushed after a change.
    let gauge = Memo::new(move |_| {
        let sampled = snapshot.with(|s| {
            let s = s.as_ref()?;
            Some((s.at, s.integrations.iter().find(|g| g.integration_id == id)?.clone()))
        });
        let pushed = pushed.with(|pushed| pushed.as_ref().map(|pushed| (pushed.at, pushed.now.clone())));
        let newest = [sampled, pushed].into_iter().flatten().max_by_key(|(at, _)| *at);
        newest.filter(|(at, _)| *at >= as_of).map_or_else(|| gauge.clone(), |(_, newest)| newest)
    });
    let closed = match integration.breaker.state {
        BreakerState::Closed => integration.breaker.clone(),
        _ => Breaker::default(),
    };
    // The stream omits closed breakers.
    let breaker = Memo::new(move |_| gauge.with(|g| g.breaker.clone()).unwrap_or_else(|| closed.clone()));
    let health = Memo::new(move |_| gauge.with(|g| HealthText::of(g, as_of)));
    let newer = refresh::every(Duration::from_secs(10), move || load_integration_charts(id, window));
    let charts = Memo::new(move |_| newer.get().unwrap_or_else(|| first_charts.clone()));
    let settings_at = integration.updated_at;
    let revision = revision::current();
    // Somebody else changed the settings. What is typed in the form stays.
    Effect::new(move |_| {
        if charts.with(|charts| charts.settings_at > settings_at) {
            revision.next();
        }
    });
    let chart = Signal::derive(move || charts.with(|charts| charts.throughput.clone()));
    let answers = Signal::derive(move || charts.with(|charts| charts.answers.clone()));
    let flow = Memo::new(move |_| charts.with(|charts| charts.flow.clone()));
    let limits = Memo::new(move |_| charts.with(|charts| charts.limits.clone()));
    let load = Signal::derive(move || {
        gauge.with(|g| Load {
            outstanding: g.backlog + g.to_be_retried,
            accepted_per_minute: g.accepted_per_minute,
        })
    });
    let sparks = Signal::stored(backlogs.into_iter().map(|n| Some(n as f64)).collect::<Vec<_>>());
    // Workers fetch the jobs of external integrations: there are no answers.
    let is_sent_to = integration.integration_type != IntegrationType::External;
    let asked_url = page_url::current().get_untracked();
    let app_name = gauge.with_untracked(|g| g.app_name.clone());
    let crumb = StoredValue::new(app_name.clone());
    let app_id = integration.app_id;
    let segments = window_segments(&PageUrl::parse(&here), window);
    let is_paused = integration.state == IntegrationState::Paused;
    let (to_steer, to_show, back) = (integration.clone(), integration.clone(), here.clone());
    let back_to_breaker = here.clone();
    let number = move |read: fn(&IntegrationGauge) -> i64| Signal::derive(move || gauge.with(read));
    let pyramid = Signal::derive(move || gauge.with(|g| g.retry_pyramid.clone()));
    let dead = number(|g| g.dead_letters);
    let says = move |read: fn(&IntegrationGauge) -> String| Signal::derive(move || gauge.with(read));
    let retries = integration.max_attempts.map_or(10, |n| usize::try_from(n - 1).unwrap_or(0).clamp(1, 10));
    view! {
        <PageHead
            title="Integrations"
            heading=integration.name.clone()
            crumbs=move || {
                view! {
                    <nav class="mb-1 type-label text-faint" aria-label="Breadcrumb">
                        <Link href="/integrations" class="hover:text-accent">"Integrations"</Link>
                        " / "
                        <Link href=format!("/integrations?app_id={app_id}") class="hover:text-accent">{crumb.get_value()}</Link>
                    </nav>
                }
            }
            badge=move || {
                view! { <HealthBadge health=health /> }
            }
        >
            <LiveBadge as_of=as_of />
            <Segmented label="Time window" segments=segments />
            <Actions integration=to_steer breaker=breaker dead=dead rights=rights />
        </PageHead>
        <div class="stack">
            <section class=move || format!("card {}", health.with(|h| h.tone).class()) aria-label="Verdict">
                <div class="verdict">
                    <div>
                        <b class="say">{move || health.with(|h| h.word)}</b>
                        <p>
                            <RichText text=Signal::derive(move || health.with(|h| h.sentence.clone())) />

                        </p>
                    </div>
                </div>
            </section>
            <section class="tiles" aria-label="Now">
                <Figure tone=Tone::Waiting label="Backlog" value=number(|g| g.backlog) says=says(clears_in) href=format!("/jobs?status=pending&integration_id={id}")>
                    <Sparkline values=sparks label=Signal::stored("Backlog over the last hour".to_owned()) />
                </Figure>
                <Figure tone=Tone::Processing label="Processing" value=number(|g| g.processing) says=says(|g| format!("of {} slots", format::count(g.max_concurrency.into()))) href=format!("/jobs?status=processing&integration_id={id}") />
                <Figure tone=Tone::Delivered label="Delivered / min" value=number(|g| g.delivered_per_minute) says=says(failed) href=format!("/jobs?status=completed&integration_id={id}") />
                <Figure tone=Tone::Retrying label="To be retried" value=number(|g| g.to_be_retried) says=says(|g| if g.to_be_retried == 0 { String::new() } else { "wait for another attempt".to_owned() }) href=format!("/jobs?status=to_be_retried&integration_id={id}") />
                <Figure tone=Tone::Failed label="Dead letters" value=dead says=says(|g| if g.dead_letters == 0 { "none".to_owned() } else { "wait for you".to_owned() }) href=format!("/dead-letters?integration_id={id}") />
                {is_sent_to
                    .then(|| {
                        view! {
                            <Figure
                                tone=Tone::Delivered
                                label="Records in sync"
                                value=Signal::stored(status.records_in_sync)
                                says=Signal::stored(format!("of {}", format::count(status.records_total)))
                                href=format!("/jobs?integration_id={id}")
                            >
                                <ProgressBar
                                    label="Records in sync"
                                    share=share(status.records_in_sync, status.records_total)
                                    tone=Tone::Delivered
                                />
                            </Figure>
                        }
                    })}
            </section>
            <div class="detail">
                <div class="stack">
                    <FlowChart flow=flow />
                    <ThroughputChart throughput=chart />
                    <LatencyCard throughput=chart />
                    {is_sent_to.then(|| view! { <AnswersCard answers=answers /> })}
                    <RecentJobs id=id jobs=jobs is_sent_to=is_sent_to as_of=as_of />
                    {rights.configure.then(|| view! {
                        <Card title="Edit limits" sub="apply from the next request on">
                            <LimitsForm integration=integration.clone() back=here.clone() />
                        </Card>
                    })}
                </div>
                <div class="stack">
                    <LimitsUse id=id limits=limits load=load url=asked_url />
                    <Card title="Retry pyramid" sub="waiting, by attempts made">
                        <RetryPyramid steps=pyramid dead=dead min_rows=retries filter=format!("integration_id={id}") />
                    </Card>
                    <Failures id=id groups=failures notes=status.notes.clone() of=status.to_be_retried + status.dead_letters now=clock::now_or(as_of) />
                    <BreakerPanel id=id breaker=breaker flips=flips may_configure=rights.configure back=back_to_breaker as_of=as_of />
                    {is_sent_to.then(|| view! { <Resyncs id=id resyncs=resyncs is_paused=is_paused may_resync=rights.resync back=back as_of=as_of /> })}
                    <Settings integration=to_show app_name=app_name last_success_at=status.last_success_at as_of=as_of />
                    {activity.map(|entries| view! { <Activity entries=entries as_of=as_of all=format!("/audit-log?object_kind=integration&object_id={id}") /> })}
                </div>
            </div>
        </div>
    }
    .into_any()
}

fn clears_in(gauge: &IntegrationGauge) -> String {
    match gauge.eta_seconds {
        _ if gauge.backlog == 0 => "nothing waits".to_owned(),
        Some(eta) => format!("done in about {}", format::eta(eta)),
        None => String::new(),
    }
}

fn failed(gauge: &IntegrationGauge) -> String {
    match gauge.failed_per_minute {
        0 => "no failed attempt".to_owned(),
        n => format::counted(n, "failed attempt", "failed attempts"),
    }
}

fn share(part: i64, whole: i64) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

/// A tile without a chart: a number, and a few words about it.
#[component]
fn Figure(
    tone: Tone,
    label: &'static str,
    value: Signal<i64>,
    says: Signal<String>,
    href: String,
    #[prop(optional)] children: Option<Children>,
) -> impl IntoView {
    view! {
        <Link href=href class=format!("card tile {}", tone.class())>
            <span class="label">
                <i></i>
                {label}
            </span>
            <span class="figure type-figure">{move || format::count(value.get())}</span>
            <span class="delta">{move || says.get()}</span>
            {children.map(|children| children())}
        </Link>
    }
    .into_any()
}

/// Remedies, while something is wrong; then controls.
#[component]
fn Actions(
    integration: Integration,
    breaker: Memo<Breaker>,
    dead: Signal<i64>,
    rights: Rights,
) -> impl IntoView {
    let id = integration.id;
    let may_configure = rights.configure;
    let probe = ServerAction::<SteerBreaker>::new();
    let is_open = Memo::new(move |_| breaker.with(|breaker| breaker.state == BreakerState::Open));
    let has_dead = Memo::new(move |_| dead.get() > 0);
    let back = format!("/integrations/{id}");
    let pause = ServerAction::<PauseIntegration>::new();
    let resume = ServerAction::<ResumeIntegration>::new();
    let hidden = HiddenFields::default().with("id", id.to_string()).with("back", back.clone());
    let probed = hidden.clone().with("action", "probe");
    view! {
        {move || {
            (may_configure && is_open.get())
                .then(|| {
                    view! {
                        <PostForm action=probe hidden=probed.clone()>
                            <Button kind=ButtonKind::Primary glyph=Glyph::Search>
                                "Probe now"
                            </Button>
                        </PostForm>
                    }
                })
        }}
        {move || {
            (rights.steer_jobs && has_dead.get())
                .then(|| {
                    view! {
                        <LinkButton href=format!("/dead-letters?integration_id={id}&confirm=requeue") glyph=Glyph::Undo>
                            "Requeue all failed"
                        </LinkButton>
                    }
                })
        }}
        <LinkButton href=format!("/failures?integration_id={id}")>"See failures"</LinkButton>
        {may_configure.then(|| view! { <LinkButton href=format!("{back}#card-edit-limits")>"Edit limits"</LinkButton> })}
        {match integration.state {
            IntegrationState::Active if may_configure => {
                view! {
                    <PostForm action=pause hidden=hidden>
                        <Button glyph=Glyph::Pause>"Pause"</Button>
                    </PostForm>
                }
                    .into_any()
            }
            IntegrationState::Paused if may_configure => {
                view! {
                    <PostForm action=resume hidden=hidden>
                        <Button kind=ButtonKind::Primary glyph=Glyph::Play>
                            "Resume"
                        </Button>
                    </PostForm>
                }
                    .into_any()
            }
            _ => ().into_any(),
        }}
    }
    .into_any()
}
