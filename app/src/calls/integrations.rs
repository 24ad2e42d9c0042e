//! One integration with its current work; pause, resume, breaker, limits, re-sync.

use super::{
    error::{CallError, FormRefused},
    json::Json,
    rate_limits::LimitRow,
};
use chrono::{DateTime, Utc};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::{
    audit::AuditEntry,
    breaker::{BreakerAction, BreakerFlip},
    failure::FailureGroup,
    id::IntegrationId,
    integration::Integration,
    job::Job,
    resync::{Resync, ResyncMode},
    stats::{Answers, FlowMinute, IntegrationGauge, Throughput, Window},
    sync_status::SyncStatus,
};
use serde::{Deserialize, Serialize};

/// One integration as its page shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntegrationPage {
    pub integration: Integration,
    /// The status that its app may see, read at the call.
    pub status: SyncStatus,
    /// Its gauges at the call.
    pub gauge: IntegrationGauge,
    pub charts: IntegrationCharts,
    /// Its backlog in the last hour, a point a minute, oldest first.
    pub backlogs: Vec<i64>,
    /// Its lines of the audit log, newest first; none when the reader may not see the log.
    pub activity: Option<Vec<AuditEntry>>,
    pub jobs: Vec<Job>,
    /// The failure groups with most of its jobs.
    pub failures: Vec<FailureGroup>,
    pub resyncs: Vec<Resync>,
    /// The last changes of its circuit breaker.
    pub flips: Vec<BreakerFlip>,
    pub as_of: DateTime<Utc>,
}

/// Throughput, answers and limits over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntegrationCharts {
    /// Counts and latency.
    pub throughput: Throughput,
    pub answers: Answers,
    /// Jobs accepted and ended in the last hour, a minute each, oldest first.
    pub flow: Vec<FlowMinute>,
    /// Its limits over the last hour, and over the last day in the same order.
    pub limits: (Vec<LimitRow>, Vec<LimitRow>),
    /// When its settings were changed last: a page that shows older ones loads again.
    pub settings_at: DateTime<Utc>,
}

/// The charts alone, for their refresh.
#[server(prefix = "/console", endpoint = "integration-charts", input = GetUrl, output = Json)]
pub async fn load_integration_charts(
    id: IntegrationId,
    window: Window,
) -> Result<IntegrationCharts, CallError> {
    use crate::server::{actor, context, limit_list};
    use insight::store::stats;
    use model::limit_use::LimitWindow;
    use service::permission;
    let scope = actor::allowed::<permission::OpenConsole>()?.scope();
    let cx = context::current()?;
    Ok(IntegrationCharts {
        throughput: stats::throughput(&cx.pool, scope, Some(id), window).await?,
        answers: stats::answers::answers(&cx.pool, scope, id, window).await?,
        // In scope: otherwise the statements above would have failed.
        flow: cx.live.flow(id),
        limits: (
            limit_list::of_integration(&cx, scope, id, LimitWindow::Hour).await?,
            limit_list::of_integration(&cx, scope, id, LimitWindow::Day).await?,
        ),
        settings_at: cx.delivery.integration(scope, id).await?.updated_at,
    })
}

#[server(prefix = "/console", endpoint = "integration", input = GetUrl, output = Json)]
pub async fn load_integration(id: IntegrationId, window: Window) -> Result<IntegrationPage, CallError> {
    use crate::server::{actor, context};
    use model::{
        audit::AuditFilter,
        failure::FailureFilter,
        filter::JobFilter,
        page::{Order, PageRequest},
        rules::{
            masking::Sensitive as _,
            permission::{Permission, is_allowed},
        },
    };
    use service::permission;
    let actor = actor::allowed::<permission::OpenConsole>()?;
    let scope = actor.scope();
    let cx = context::current()?;
    let as_of = queue::store::clock::now(&cx.pool).await?;
    let activity = if is_allowed(actor.role, Permission::ReadDeployment) {
        let about = AuditFilter {
            object_kind: Some("integration".to_owned()),
            object_id: Some(id.to_string()),
            ..AuditFilter::default()
        };
        let few = PageRequest { limit: 8, after: None };
        let mut lines = access::audit::list(&cx.pool, &about, few).await?.items;
        lines.hide_internals(actor.role);
        Some(lines)
    } else {
        None
    };
    let few = PageRequest { limit: 10, after: None };
    let filter = JobFilter { integration_id: Some(id), ..JobFilter::default() };
    let failing = FailureFilter { integration_id: Some(id), ..FailureFilter::default() };
    let largest = PageRequest { limit: 5, after: None };
    let failures = insight::store::failures::list(&cx.pool, scope, &failing, largest).await?.items;
    let (mut failures, _) = cx.delivery.masked(failures).await?;
    failures.retain(|group| group.jobs() > 0);
    Ok(IntegrationPage {
        integration: cx.delivery.shown_to(&actor, cx.delivery.integration(scope, id).await?).await?,
        status: cx.delivery.status(scope, id).await?,
        gauge: insight::store::stats::gauge(&cx.pool, scope, id).await?,
        charts: load_integration_charts(id, window).await?,
        backlogs: cx.live.backlogs(id).into_iter().map(|(_, n)| n).collect(),
        activity,
        jobs: cx
            .delivery
            .masked(insight::store::job_lists::list_from(&cx.pool, scope, &filter, few, Order::Newest).await?)
            .await?
            .0
            .items,
        failures,
        resyncs: cx.lists().resyncs(scope, Some(id), few).await?.items,
        flips: cx.delivery.breaker_flips(scope, id, PageRequest { limit: 5, after: None }).await?.items,
        as_of,
    })
}

/// Its jobs wait until it is resumed.
#[server(prefix = "/console", endpoint = "pause-integration", output = Json)]
pub async fn pause_integration(id: IntegrationId, back: String) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, redirect},
    };
    use model::integration::PAUSED_BY_HAND;
    use service::permission;
    redirect::answer(&back, async {
        let actor = actor::allowed::<permission::Configure>()?;
        context::current()?.headgate.pause_integration(&actor, id, Some(PAUSED_BY_HAND)).await?;
        Ok(Flash::Paused.into())
    })
    .await
}

/// Its jobs are sent again.
#[server(prefix = "/console", endpoint = "resume-integration", output = Json)]
pub async fn resume_integration(id: IntegrationId, back: String) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, redirect},
    };
    use service::permission;
    redirect::answer(&back, async {
        let actor = actor::allowed::<permission::Configure>()?;
        context::current()?.headgate.resume_integration(&actor, id).await?;
        Ok(Flash::Resumed.into())
    })
    .await
}

/// Probes, closes or holds open its circuit breaker. `until` belongs to a hold: the UTC value of a `datetime-local` field.
#[server(prefix = "/console", endpoint = "steer-breaker", output = Json)]
pub async fn steer_breaker(
    id: IntegrationId,
    action: BreakerAction,
    #[server(default)] until: String,
    back: String,
) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, forms},
        state::form_draft::Draft,
    };
    use model::{breaker::BreakerOrder, problem::Faults};
    use service::permission;
    let made = async {
        let actor = actor::allowed::<permission::Configure>()?;
        let no_moment = || {
            let mut faults = Faults::default();
            faults.add("/until", "is not a date and time");
            faults
        };
        let moment = match until.trim() {
            "" => None,
            text => Some(crate::format::parse_local(text).ok_or_else(no_moment)?),
        };
        let order = BreakerOrder { action, until: moment };
        context::current()?.headgate.control_breaker(&actor, id, order).await?;
        Ok(match action {
            BreakerAction::Probe => Flash::BreakerProbes,
            BreakerAction::Close => Flash::BreakerClosed,
            BreakerAction::Hold => Flash::BreakerHeld,
        }
        .into())
    }
    .await;
    forms::answer(&back, made, |url, faults| Draft::on(url, &[("until", until.trim())], faults)).await
}

/// What the limits form sends. An empty field removes the setting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LimitsForm {
    /// Requests in each window, a row for each limit; empty rows are skipped.
    pub requests: Vec<String>,
    pub per_seconds: Vec<String>,
    /// Jobs at once.
    pub max_concurrency: String,
    /// Seconds of one attempt; empty: the default.
    pub timeout_seconds: String,
    /// Attempts of a job; empty: the default.
    pub max_attempts: String,
    /// Waits between attempts; empty: the default.
    pub retry_schedule: String,
    /// Seconds without a change after which a record is sent; empty: at once.
    pub debounce_seconds: String,
    /// The longest that the first change waits; empty: as `debounce_seconds`.
    pub debounce_max_seconds: String,
    /// The values with which the form was rendered, see [`crate::state::drawn`].
    pub drawn: String,
}

/// Changes rate limits, concurrency, timeout, retries and debounce.
#[server(prefix = "/console", endpoint = "edit-limits", output = Json)]
pub async fn edit_limits(
    id: IntegrationId,
    limits: LimitsForm,
    #[server(default)] etag: String,
    back: String,
) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, redirect},
        state::{
            limits_draft::{self, LimitsDraft},
            page_url::PageUrl,
        },
    };
    use model::{etag::IfMatch, integration::IntegrationChanges};
    use service::permission;
    let changes = limits_draft::changes(&limits);
    // The page shows each fault at its field, with what was typed.
    let draft = |url: PageUrl| LimitsDraft::on(url, id, &limits);
    redirect::answer_with(&back, draft, async {
        let actor = actor::allowed::<permission::Configure>()?;
        let changes = changes.map_err(|faults| CallError::Invalid(faults.to_string()))?;
        let changes = IntegrationChanges { if_match: IfMatch::from_form(&etag), ..changes };
        context::current()?.headgate.update_integration(&actor, id, &changes).await?;
        Ok(Flash::LimitsSaved.into())
    })
    .await
}

/// Starts a re-sync.
#[server(prefix = "/console", endpoint = "start-resync", output = Json)]
pub async fn start_resync(
    id: IntegrationId,
    mode: ResyncMode,
    #[server(default)] record_type: String,
    back: String,
) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, forms},
        state::form_draft::Draft,
    };
    use model::resync::NewResync;
    use service::permission;
    let record_type = record_type.trim();
    let made = async {
        let actor = actor::allowed::<permission::Resync>()?;
        let kind = Some(record_type.to_owned()).filter(|kind| !kind.is_empty());
        let wanted = NewResync { record_type: kind, record_ids: None, mode };
        wanted.check()?;
        context::current()?.headgate.start_resync(&actor, id, &wanted).await?;
        Ok(Flash::ResyncStarted.into())
    }
    .await;
    forms::answer(&back, made, |url, faults| {
        Draft::on(url, &[("mode", mode.as_str()), ("record_type", record_type)], faults)
    })
    .await
}
