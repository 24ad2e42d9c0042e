//! Forms about integrations: typed input as the service takes it, and the notice of what was done.

use crate::calls::error::CallError;
use crate::components::{Flash, Outcome};
use crate::forms::IntegrationBulk;
use model::breaker::{BreakerAction, BreakerOrder};
use model::integration_bulk::IntegrationBulkAction;
use model::problem::Faults;
use model::rate_limit::{RateLimit, RateLimits};
use model::resync::{NewResync, ResyncMode};
use model::views::integration_list::ConfirmedBulk;

/// The action of a bulk form with its limit: no requests remove it.
///
/// # Errors
/// `Invalid` for a limit that cannot be read.
pub fn bulk_change(bulk: &IntegrationBulk) -> Result<(IntegrationBulkAction, Option<RateLimits>), CallError> {
    let number =
        |text: &str| text.trim().parse::<i32>().map_err(|_| CallError::Invalid("/rate_limit".to_owned()));
    match bulk.action {
        IntegrationBulkAction::SetLimit if bulk.requests.trim().is_empty() => {
            Ok((IntegrationBulkAction::ClearLimit, None))
        }
        IntegrationBulkAction::SetLimit => {
            let limit =
                RateLimit { requests: number(&bulk.requests)?, per_seconds: number(&bulk.per_seconds)? };
            Ok((bulk.action, Some(RateLimits::One(limit))))
        }
        action => Ok((action, None)),
    }
}

/// The notice after a bulk action.
pub fn outcome(action: IntegrationBulkAction, bulk: &ConfirmedBulk) -> Outcome {
    let made = match bulk {
        ConfirmedBulk::NothingSelected => return Flash::NothingSelected.into(),
        ConfirmedBulk::CountChanged => return Flash::CountChanged.into(),
        ConfirmedBulk::Made(made) => made,
    };
    let flash = match action {
        IntegrationBulkAction::Pause => Flash::IntegrationsPaused,
        IntegrationBulkAction::Resume => Flash::IntegrationsResumed,
        IntegrationBulkAction::SetLimit | IntegrationBulkAction::ClearLimit => Flash::IntegrationsLimited,
    };
    Outcome { n: made.changed, skipped: made.skipped.len() as i64, ..flash.into() }
}

/// The order for a circuit breaker. `until` is the UTC value of a `datetime-local` field, or empty.
///
/// # Errors
/// The fault of `until`.
pub fn breaker_order(action: BreakerAction, until: &str) -> Result<BreakerOrder, Faults> {
    let until = match until.trim() {
        "" => None,
        text => Some(crate::format::parse_local(text).ok_or_else(|| {
            let mut faults = Faults::default();
            faults.add("/until", "is not a date and time");
            faults
        })?),
    };
    Ok(BreakerOrder { action, until })
}

/// The notice after an order for a circuit breaker.
pub const fn breaker_flash(action: BreakerAction) -> Flash {
    match action {
        BreakerAction::Probe => Flash::BreakerProbes,
        BreakerAction::Close => Flash::BreakerClosed,
        BreakerAction::Hold => Flash::BreakerHeld,
    }
}

/// The re-sync of all records, or of one type.
///
/// # Errors
/// The fault of the type.
pub fn resync(mode: ResyncMode, record_type: &str) -> Result<NewResync, Faults> {
    let record_type = Some(record_type.trim().to_owned()).filter(|kind| !kind.is_empty());
    let wanted = NewResync { record_type, record_ids: None, mode };
    wanted.check()?;
    Ok(wanted)
}
