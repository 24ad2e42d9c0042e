//! The result of one job, on its way to the database.

use crate::store::jobs::{AttemptEnd, ClaimedJob, Ending};
use crate::worker::finish::races::Races;
use crate::worker::handler::{CompletedJob, Uncertain};
use crate::worker::limit::AT_ONCE;
use model::id::AssignmentId;
use std::time::Duration;

/// The result of one job.
pub(crate) struct Finished {
    /// Without its payload.
    pub job: ClaimedJob,
    pub end: AttemptEnd,
    /// Of a completed job: the argument of its handler's `on_completed`.
    pub done: Option<CompletedJob>,
    /// What may have arrived, as the handler reported.
    pub uncertain: Option<Uncertain>,
    /// Stored without calling the handler: the job's row itself records that something may have arrived.
    pub skips_handler: bool,
    /// Another job that shared the request reports its response.
    pub is_echo: bool,
    pub detail: Detail,
    pub races: Races,
    /// It was not recorded, because the job is another worker's: only what may have arrived is still to be recorded.
    pub is_late: bool,
}

impl Finished {
    pub(crate) fn new(
        job: ClaimedJob,
        end: AttemptEnd,
        done: Option<CompletedJob>,
        uncertain: Option<Uncertain>,
    ) -> Self {
        let (detail, races) = (Detail::default(), Races::default());
        Self {
            job,
            end,
            done,
            uncertain,
            skips_handler: false,
            is_echo: false,
            detail,
            races,
            is_late: false,
        }
    }

    /// The job is another worker's, so its end is not recorded: it gets an assignment nobody has. Only what may have arrived is recorded.
    pub(crate) fn of_a_lost_lease(job: ClaimedJob, uncertain: Option<Uncertain>) -> Self {
        let mut end = AttemptEnd::of(&job, Duration::ZERO, Ending::Released { until: AT_ONCE });
        end.assignment_id = AssignmentId(uuid::Uuid::nil());
        Self::new(job, end, None, uncertain)
    }
}

/// What is recorded of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Detail {
    #[default]
    Whole,
    /// A failure with the error that the result could not be stored.
    Failure,
    /// The job is released, and no handler is called.
    Release,
}
