//! Which actions to offer: those that the state of at least one job allows.

use model::job::JobStatus;
use model::matched::Matched;
use model::rules::transition::{can_cancel, can_requeue};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Offered {
    pub requeue: bool,
    pub cancel: bool,
}

impl Offered {
    /// For jobs in these states.
    pub(super) fn on(states: impl IntoIterator<Item = JobStatus>) -> Self {
        let on = |state| Self { requeue: can_requeue(state), cancel: can_cancel(state) };
        states.into_iter().map(on).fold(Self::default(), Self::or)
    }

    /// For jobs of which only the filter is known; `None`: they may be in any state.
    pub(super) fn on_any(filter: Option<JobStatus>) -> Self {
        filter.map_or(Self { requeue: true, cancel: true }, |state| Self::on([state]))
    }

    /// For all that match a filter, as they were counted. `matched` is `None` where counting takes too long.
    pub(super) fn on_all(filter: Option<JobStatus>, matched: Option<Matched>) -> Self {
        match matched.filter(|matched| !matched.all.is_more) {
            Some(matched) => Self { requeue: matched.requeue.n > 0, cancel: matched.cancel.n > 0 },
            None => Self::on_any(filter),
        }
    }

    pub(super) const fn or(self, other: Self) -> Self {
        Self { requeue: self.requeue || other.requeue, cancel: self.cancel || other.cancel }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::matched::AtLeast;

    const BOTH: Offered = Offered { requeue: true, cancel: true };
    const REQUEUE: Offered = Offered { requeue: true, cancel: false };
    const CANCEL: Offered = Offered { requeue: false, cancel: true };

    #[test]
    fn an_action_is_offered_where_one_of_the_jobs_allows_it() {
        assert_eq!(Offered::on([]), Offered::default());
        assert_eq!(Offered::on([JobStatus::Completed]), Offered::default());
        assert_eq!(Offered::on([JobStatus::Failed, JobStatus::Cancelled]), REQUEUE);
        assert_eq!(Offered::on([JobStatus::Pending, JobStatus::Completed]), CANCEL);
        assert_eq!(Offered::on([JobStatus::Failed, JobStatus::Pending]), BOTH);
    }

    #[test]
    fn all_that_match_are_judged_by_their_count_or_by_the_filter() {
        let exactly = |n| AtLeast { n, is_more: false };
        let counted = Matched { all: exactly(7), requeue: exactly(0), cancel: exactly(7) };
        assert_eq!(Offered::on_all(None, Some(counted)), CANCEL);
        let more = Matched { all: AtLeast { n: 1_000, is_more: true }, ..counted };
        assert_eq!(
            Offered::on_all(None, Some(more)),
            BOTH,
            "of those that were not counted nothing is known"
        );
        assert_eq!(Offered::on_all(Some(JobStatus::Failed), Some(more)), REQUEUE);
        assert_eq!(Offered::on_all(Some(JobStatus::Completed), None), Offered::default());
    }
}
