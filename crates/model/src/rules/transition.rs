//! The allowed changes of a job's status. Every statement that changes one is guarded accordingly.

use crate::job::JobStatus;

/// Whether a job may go from one status to the other.
///
/// `retrying` is `to_be_retried` that is due: it is shown, never stored, and changes in the same way.
#[must_use]
pub fn is_allowed(from: JobStatus, to: JobStatus) -> bool {
    use JobStatus::{Cancelled, Completed, Failed, Pending, Processing, Retrying, ToBeRetried};
    match (from, to) {
        // A claim; a cancel.
        (Pending, Processing | Cancelled) => true,
        // A result; a lost lease; a release (to pending or to be retried, as before).
        (Processing, Completed | ToBeRetried | Failed | Cancelled | Pending) => true,
        // A claim; a cancel; a requeue, which starts again with all attempts.
        (ToBeRetried | Retrying, Processing | Cancelled | Pending) => true,
        // Time passes.
        (ToBeRetried, Retrying) => true,
        // A requeue; purging leaves no status.
        (Failed | Cancelled, Pending) => true,
        // A dead letter whose work was taken over by a live job of the same deduplication id.
        (Failed, Cancelled) => true,
        _ => false,
    }
}

/// Whether `Requeue` may be offered.
#[must_use]
pub fn can_requeue(status: JobStatus) -> bool {
    !matches!(status, JobStatus::Completed | JobStatus::Pending | JobStatus::Processing)
        && is_allowed(status, JobStatus::Pending)
}

/// Whether `Cancel` may be offered.
#[must_use]
pub fn can_cancel(status: JobStatus) -> bool {
    status.is_live()
}

#[cfg(test)]
mod tests {
    use super::*;
    use JobStatus::{Cancelled, Completed, Failed, Pending, Processing, Retrying, ToBeRetried};

    #[test]
    fn the_whole_table() {
        let allowed = [
            (Pending, vec![Processing, Cancelled]),
            (Processing, vec![Pending, ToBeRetried, Completed, Failed, Cancelled]),
            (ToBeRetried, vec![Pending, Processing, Retrying, Cancelled]),
            (Retrying, vec![Pending, Processing, Cancelled]),
            (Completed, vec![]),
            (Failed, vec![Pending, Cancelled]),
            (Cancelled, vec![Pending]),
        ];
        for (from, targets) in allowed {
            for &to in JobStatus::ALL {
                assert_eq!(is_allowed(from, to), targets.contains(&to), "{from:?} to {to:?}");
            }
        }
    }

    #[test]
    fn actions_are_offered_where_they_are_possible() {
        for (status, requeue, cancel) in [
            (Pending, false, true),
            (Processing, false, true),
            (ToBeRetried, true, true),
            (Retrying, true, true),
            (Completed, false, false),
            (Failed, true, false),
            (Cancelled, true, false),
        ] {
            assert_eq!((can_requeue(status), can_cancel(status)), (requeue, cancel), "{status:?}");
        }
    }
}
