//! One integration: its health, its numbers, and what can be done about it.

mod actions;
mod figures;
mod live;

use self::{actions::Actions, figures::Figures, live::LiveIntegration};
use super::{
    activity::Activity, failures::Failures, limit_use::LimitsUse, limits_form::LimitsForm,
    recent_jobs::RecentJobs, resyncs::Resyncs, settings::Settings,
};
use crate::calls::error::CallError;
use crate::calls::integrations::load_integration;
use crate::components::page_table::ConsolePage;
use crate::components::{
    AnswersCard, BreakerPanel, FlowChart, HealthBadge, LatencyCard, LiveBadge, Loaded, PageHead,
    RetryPyramid, ThroughputChart, window_segments,
};
use crate::state::page_url::{self, PageUrl};
use crate::state::what_if::Load;
use crate::state::{clock, revision};
use crate::ui::{Card, ChartCursor, Link, RichText, Segmented};
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;
use model::id::IntegrationId;
use model::integration::{IntegrationState, IntegrationType};
use model::rules::permission::Permission;
use model::stats::Window;
use model::views::integration_page::IntegrationPage;

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
    let page = revision::page_data(
        move || asked.get(),
        |(id, window, _)| async move {
            match id {
                Some(id) => load_integration(id, window).await,
                None => Err(CallError::NotFound),
            }
        },
    );
    view! {
        <Loaded
            title=ConsolePage::Integrations.title()
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
    let LiveIntegration { gauge, gauge_at, breaker, health, charts } =
        LiveIntegration::follow(&integration, gauge, first_charts, window, as_of);
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
    let pyramid = Signal::derive(move || gauge.with(|g| g.retry_pyramid.clone()));
    let dead = Signal::derive(move || gauge.with(|g| g.dead_letters));
    let records = (status.records_in_sync, status.records_total);
    let retries = integration.max_attempts.map_or(10, |n| usize::try_from(n - 1).unwrap_or(0).clamp(1, 10));
    view! {
        <PageHead
            title=ConsolePage::Integrations.title()
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
            <Figures id=id gauge=gauge gauge_at=gauge_at backlogs=backlogs records=is_sent_to.then_some(records) />
            <div class="detail">
                <div class="stack">
                    <FlowChart flow=flow />
                    <ThroughputChart throughput=chart />
                    <LatencyCard throughput=chart />
                    {is_sent_to.then(|| view! { <AnswersCard answers=answers /> })}
                    <RecentJobs id=id jobs=jobs gauge=gauge is_sent_to=is_sent_to as_of=as_of />
                    {rights.configure.then(|| view! {
                        <Card title="Edit limits" sub="apply from the next request">
                            <LimitsForm integration=integration.clone() back=here.clone() />
                        </Card>
                    })}
                </div>
                <div class="stack">
                    <LimitsUse id=id limits=limits load=load url=asked_url />
                    <Card title="Retry pyramid" sub="waiting jobs by attempts made">
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
