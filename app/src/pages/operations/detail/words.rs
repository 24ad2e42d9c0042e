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
            Some(left) => format!("Nothing is changed yet: it starts in **{left}**. Abort withdraws it."),
            None => "Nothing is changed yet. Abort withdraws it.".to_owned(),
        },
        OperationState::Running if operation.action == BulkAction::Delete => {
            "It is no longer accepted, sent or shown. What is left of it is deleted in the background."
                .to_owned()
        }
        OperationState::Running => "It continues in the background.".to_owned(),
        OperationState::Paused => "Stopped until it is resumed. What is done stays done.".to_owned(),
        OperationState::Done if operation.action == BulkAction::Undo => {
            "Done: what could be undone is in its previous state.".to_owned()
        }
        OperationState::Done => format!("Done.{can_undo}"),
        OperationState::Aborted => format!("Stopped for good. What is done stays done.{can_undo}"),
        OperationState::Undone => "Undone, except for jobs tried since.".to_owned(),
    }
}

pub fn pace(operation: &Operation) -> String {
    match operation.rate_per_second {
        Some(rate) => format!("{} per second at most", format::count(rate.into())),
        None => "no limit".to_owned(),
    }
}
