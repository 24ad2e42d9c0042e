//! How an operation stands, in words.

use crate::format;
use chrono::{DateTime, Utc};
use model::operation::{BulkAction, Operation, OperationState};

/// Its state and what can be done, in one sentence.
pub fn verdict(operation: &Operation, now: DateTime<Utc>) -> String {
    let until =
        |at: Option<DateTime<Utc>>| at.map(|at| format::age((at - now).max(chrono::TimeDelta::zero())));
    let can_undo = until(operation.undo_until.filter(|at| *at > now))
        .map(|left| format!(" It can be undone for another {left}."))
        .unwrap_or_default();
    match operation.state {
        OperationState::Held => match until(operation.hold_until) {
            Some(left) => format!("Nothing has changed yet. It starts in **{left}**; abort to call it off."),
            None => "Nothing has changed yet. Abort to call it off.".to_owned(),
        },
        OperationState::Running if operation.action == BulkAction::Delete => {
            "No longer accepted, sent or shown. The rest is being deleted in the background.".to_owned()
        }
        OperationState::Running => "Running in the background.".to_owned(),
        OperationState::Paused => "Paused. Changes made so far stay.".to_owned(),
        OperationState::Done if operation.action == BulkAction::Undo => {
            "Done: what could be undone is back in its previous state.".to_owned()
        }
        OperationState::Done => format!("Done.{can_undo}"),
        OperationState::Aborted => format!("Aborted. Changes made so far stay.{can_undo}"),
        OperationState::Undone => "Undone, except for jobs attempted since.".to_owned(),
    }
}

pub fn pace(operation: &Operation) -> String {
    match operation.rate_per_second {
        Some(rate) => format!("at most {} per second", format::count(rate.into())),
        None => "no limit".to_owned(),
    }
}
