//! Ends overdue attempts that their own task cannot end because the handler does not yield.

use crate::store::jobs::AttemptEnd;
use crate::worker::finish::{Finished, Finisher};
use crate::worker::judge::{Schedules, failure};
use crate::worker::run::attempt_runner::ending_of;
use crate::worker::run::{Attempt, Attempts};
use crate::worker::state::RunningJobs;
use model::rules::cause::no_answer_within;
use model::rules::verdict::ErrorKind;
use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, sleep};

/// Between two checks.
const INTERVAL: Duration = Duration::from_millis(250);

/// Checks for overdue attempts, on a thread that no handler can block.
pub(crate) struct OverdueCheck {
    pub(crate) attempts: Arc<Attempts>,
    pub(crate) running: Arc<RunningJobs>,
    pub(crate) schedules: Arc<Schedules>,
    pub(crate) finisher: Finisher,
}

impl OverdueCheck {
    pub(crate) async fn repeat(&self) {
        loop {
            sleep(INTERVAL).await;
            for attempt in self.attempts.overdue(Instant::now()) {
                self.end(&attempt);
            }
        }
    }

    fn end(&self, attempt: &Attempt) {
        // Counted before it is ended, because the handler may return right after.
        self.attempts.add_blocked();
        let Some((ticket, uncertain)) = attempt.end() else { return self.attempts.remove_blocked() };
        let leased = &attempt.job;
        tracing::warn!(
            job.id = %leased.id,
            job.type = %leased.job_type,
            correlation_id = leased.correlation_id,
            blocked = self.attempts.blocked(),
            "the handler of {} blocks its thread: the time-out of job {} is recorded, and the thread is lost until the handler returns",
            leased.job_type,
            leased.id,
        );
        let message = format!("{}, and the handler did not stop", no_answer_within(leased.timeout));
        let ending = ending_of(&self.schedules, leased, failure(ErrorKind::Timeout, message));
        let assignment_id = ticket.assignment_id;
        let end = AttemptEnd::of(&ticket, attempt.began_at.elapsed(), ending);
        self.finisher.record(Finished::new(ticket, end, None, uncertain));
        self.running.free_slot(assignment_id);
    }
}
