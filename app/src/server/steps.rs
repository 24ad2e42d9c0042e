//! Steps that a form asks for, and the notice that says they were taken.

use crate::{calls::error::CallError, components::Flash};
use chrono::{TimeDelta, Utc};
use model::{failure::FailureStep, operation::OperationStep, resync::ResyncStep};

/// The step of a failure group's form; a snooze has hours.
pub fn of_failure(mark: &str, hours: Option<i64>) -> Result<FailureStep, CallError> {
    match (mark, hours) {
        ("fix", _) => Ok(FailureStep::Fix),
        ("reopen", _) => Ok(FailureStep::Reopen),
        ("snooze", Some(hours)) => {
            Ok(FailureStep::Snooze(Utc::now() + TimeDelta::hours(hours.clamp(0, 24 * 365))))
        }
        _ => Err(CallError::Invalid("No action was selected.".to_owned())),
    }
}

pub fn failure_notice(step: FailureStep) -> Flash {
    match step {
        FailureStep::Fix => Flash::FailureFixed,
        FailureStep::Reopen => Flash::FailureReopened,
        FailureStep::Snooze(_) => Flash::FailureSnoozed,
    }
}

pub fn operation_notice(step: OperationStep) -> Flash {
    match step {
        OperationStep::Pause => Flash::OperationPaused,
        OperationStep::Resume => Flash::OperationResumed,
        OperationStep::Abort => Flash::OperationAborted,
        OperationStep::Undo => Flash::OperationUndone,
    }
}

pub fn resync_notice(step: ResyncStep) -> Flash {
    match step {
        ResyncStep::Pause => Flash::ResyncPaused,
        ResyncStep::Resume => Flash::ResyncResumed,
        ResyncStep::Cancel => Flash::ResyncCancelled,
    }
}
