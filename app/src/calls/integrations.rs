//! One integration with its current work; pause, resume, breaker, limits, re-sync.

use super::error::{CallError, FormRefused};
use super::json::Json;
use crate::forms::LimitsForm;
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::breaker::BreakerAction;
use model::id::IntegrationId;
use model::resync::ResyncMode;
use model::stats::Window;
use model::views::integration_page::{IntegrationCharts, IntegrationPage};

/// One integration with its current work.
#[server(prefix = "/console", endpoint = "integration", input = GetUrl, output = Json)]
pub async fn load_integration(id: IntegrationId, window: Window) -> Result<IntegrationPage, CallError> {
    use crate::server::{actor, context};
    use service::permission;
    let actor = actor::allowed::<permission::OpenConsole>()?;
    Ok(context::current()?.headgate.integration_page(&actor, id, window).await?)
}

/// The charts alone, for their refresh.
#[server(prefix = "/console", endpoint = "integration-charts", input = GetUrl, output = Json)]
pub async fn load_integration_charts(
    id: IntegrationId,
    window: Window,
) -> Result<IntegrationCharts, CallError> {
    use crate::server::{actor, context};
    use service::permission;
    let actor = actor::allowed::<permission::OpenConsole>()?;
    Ok(context::current()?.headgate.integration_charts(&actor, id, window).await?)
}

/// Its jobs wait until it is resumed.
#[server(prefix = "/console", endpoint = "pause-integration", output = Json)]
pub async fn pause_integration(id: IntegrationId, back: String) -> Result<(), FormRefused> {
    use crate::components::Flash;
    use crate::server::{actor, context, redirect};
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
    use crate::components::Flash;
    use crate::server::{actor, context, redirect};
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
    use crate::server::{actor, context, forms, integration_forms};
    use crate::state::form_draft::Draft;
    use service::permission;
    let made = async {
        let actor = actor::allowed::<permission::Configure>()?;
        let order = integration_forms::breaker_order(action, &until)?;
        context::current()?.headgate.steer_breaker(&actor, id, order).await?;
        Ok(integration_forms::breaker_flash(action).into())
    }
    .await;
    forms::answer(&back, made, |url, faults| Draft::on(url, &[("until", until.trim())], faults)).await
}

/// Changes rate limits, concurrency, timeout, retries and debounce.
#[server(prefix = "/console", endpoint = "edit-limits", output = Json)]
pub async fn edit_limits(
    id: IntegrationId,
    limits: LimitsForm,
    #[server(default)] etag: String,
    back: String,
) -> Result<(), FormRefused> {
    use crate::components::Flash;
    use crate::server::{actor, context, redirect};
    use crate::state::limits_draft::{self, LimitsDraft};
    use crate::state::page_url::PageUrl;
    use model::{etag::IfMatch, integration_settings::IntegrationChanges};
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
    use crate::components::Flash;
    use crate::server::{actor, context, forms, integration_forms};
    use crate::state::form_draft::Draft;
    use service::permission;
    let made = async {
        let actor = actor::allowed::<permission::Resync>()?;
        let wanted = integration_forms::resync(mode, &record_type)?;
        context::current()?.headgate.start_resync(&actor, id, &wanted).await?;
        Ok(Flash::ResyncStarted.into())
    }
    .await;
    let typed = [("mode", mode.as_str()), ("record_type", record_type.trim())];
    forms::answer(&back, made, |url, faults| Draft::on(url, &typed, faults)).await
}
