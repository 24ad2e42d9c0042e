//! Integrations: one of them with what it does now; pause, resume, limits, re-sync.

use super::error::CallError;
use chrono::{DateTime, Utc};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::{
    breaker::{BreakerAction, BreakerFlip},
    id::IntegrationId,
    integration::Integration,
    job::Job,
    resync::{Resync, ResyncMode},
    stats::{IntegrationGauge, Throughput, Window},
    sync_status::SyncStatus,
};
use serde::{Deserialize, Serialize};

/// One integration as its page shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntegrationPage {
    /// Its settings.
    pub integration: Integration,
    /// What a customer may see, read at the call.
    pub status: SyncStatus,
    /// Its gauges at the call.
    pub gauge: IntegrationGauge,
    /// Its chart.
    pub throughput: Throughput,
    /// Its newest jobs.
    pub jobs: Vec<Job>,
    /// Its newest re-syncs.
    pub resyncs: Vec<Resync>,
    /// The last changes of its circuit breaker.
    pub flips: Vec<BreakerFlip>,
    /// The moment of all that.
    pub as_of: DateTime<Utc>,
}

/// One integration.
#[server(prefix = "/console", endpoint = "integration", input = GetUrl)]
pub async fn load_integration(id: IntegrationId, window: Window) -> Result<IntegrationPage, CallError> {
    use crate::server::{actor, context};
    use model::{filter::JobFilter, page::PageRequest, rules::permission::Permission};
    let scope = actor::allowed(Permission::OpenConsole)?.scope();
    let cx = context::current()?;
    let few = PageRequest { limit: 10, after: None };
    let filter = JobFilter { integration_id: Some(id), ..JobFilter::default() };
    Ok(IntegrationPage {
        integration: cx.delivery.integration(scope, id).await?,
        status: cx.delivery.status(scope, id).await?,
        gauge: queue::store::stats::gauge(&cx.pool, scope, id).await?,
        throughput: queue::store::stats::throughput(&cx.pool, scope, Some(id), window).await?,
        jobs: queue::store::jobs::list(&cx.pool, scope, &filter, few).await?.items,
        resyncs: cx.delivery.resyncs(scope, Some(id), few).await?.items,
        flips: cx.delivery.breaker_flips(scope, id, PageRequest { limit: 5, after: None }).await?.items,
        as_of: Utc::now(),
    })
}

/// Holds its jobs back.
#[server(prefix = "/console", endpoint = "pause-integration")]
pub async fn pause_integration(id: IntegrationId, back: String) -> Result<(), CallError> {
    use crate::{
        components::Flash,
        server::{actor, redirect, steer},
    };
    use model::rules::permission::Permission;
    redirect::answer(&back, async {
        let actor = actor::allowed(Permission::Configure)?;
        steer::pause_integration(&actor, id).await?;
        Ok(Flash::Paused.into())
    })
    .await
}

/// Lets its jobs go out again.
#[server(prefix = "/console", endpoint = "resume-integration")]
pub async fn resume_integration(id: IntegrationId, back: String) -> Result<(), CallError> {
    use crate::{
        components::Flash,
        server::{actor, redirect, steer},
    };
    use model::rules::permission::Permission;
    redirect::answer(&back, async {
        let actor = actor::allowed(Permission::Configure)?;
        steer::resume_integration(&actor, id).await?;
        Ok(Flash::Resumed.into())
    })
    .await
}

/// Probes, closes or holds open its circuit breaker. `until` goes with a hold: date and time in UTC, as the browser's field writes them.
#[server(prefix = "/console", endpoint = "steer-breaker")]
pub async fn steer_breaker(
    id: IntegrationId,
    action: BreakerAction,
    #[server(default)] until: String,
    back: String,
) -> Result<(), CallError> {
    use crate::{
        components::Flash,
        server::{actor, redirect, steer},
    };
    use model::{breaker::BreakerOrder, rules::permission::Permission};
    redirect::answer(&back, async {
        let actor = actor::allowed(Permission::Configure)?;
        let until = match until.trim() {
            "" => None,
            text => Some(
                crate::format::parse_local(text).ok_or_else(|| CallError::Invalid("/until".to_owned()))?,
            ),
        };
        steer::steer_breaker(&actor, id, BreakerOrder { action, until }).await?;
        Ok(match action {
            BreakerAction::Probe => Flash::BreakerProbes,
            BreakerAction::Close => Flash::BreakerClosed,
            BreakerAction::Hold => Flash::BreakerHeld,
        }
        .into())
    })
    .await
}

/// What the limits form sends. An empty field takes the setting away.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LimitsForm {
    /// Requests in each window; empty: no limit.
    pub requests: String,
    /// Length of the window.
    pub per_seconds: String,
    /// Jobs at once.
    pub max_concurrency: String,
    /// Seconds of one attempt; empty: the default.
    pub timeout_seconds: String,
    /// Attempts of a job; empty: the default.
    pub max_attempts: String,
}

/// Changes how fast and how hard it is tried.
#[server(prefix = "/console", endpoint = "edit-limits")]
pub async fn edit_limits(id: IntegrationId, limits: LimitsForm, back: String) -> Result<(), CallError> {
    use crate::{
        components::Flash,
        server::{actor, redirect, steer},
        state::limits_draft::{self, LimitsDraft},
    };
    use model::rules::permission::Permission;
    let changes = limits_draft::changes(&limits);
    // The page shows each fault at its field, and what was typed.
    let draft = changes.is_err().then_some(|url| LimitsDraft::on(url, &limits));
    redirect::answer_with(&back, draft, async {
        let actor = actor::allowed(Permission::Configure)?;
        let changes = changes.map_err(|faults| CallError::Invalid(faults.to_string()))?;
        steer::update_integration(&actor, id, changes).await?;
        Ok(Flash::LimitsSaved.into())
    })
    .await
}

/// Sends its catalog again.
#[server(prefix = "/console", endpoint = "start-resync")]
pub async fn start_resync(
    id: IntegrationId,
    mode: ResyncMode,
    #[server(default)] record_type: String,
    back: String,
) -> Result<(), CallError> {
    use crate::{
        components::Flash,
        server::{actor, redirect, steer},
    };
    use model::{resync::NewResync, rules::permission::Permission};
    redirect::answer(&back, async {
        let actor = actor::allowed(Permission::Resync)?;
        let record_type = Some(record_type.trim().to_owned()).filter(|kind| !kind.is_empty());
        let wanted = NewResync { record_type, record_ids: None, mode };
        wanted.check().map_err(|faults| CallError::Invalid(faults.to_string()))?;
        steer::start_resync(&actor, id, wanted).await?;
        Ok(Flash::ResyncStarted.into())
    })
    .await
}
