//! Ends overdue attempts that their own task cannot end because the handler does not yield.

use crate::{
    store::jobs::AttemptEnd,
    worker::{
        finish::finisher::{Finished, Finisher},
        run::attempts::Attempt,
        run::execute::{ending_of, failure},
        state::shared::Shared,
    },
};
use model::rules::verdict::ErrorKind;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Between two checks.
const INTERVAL: Duration = Duration::from_millis(250);

pub(crate) async fn end_overdue(shared: &Shared, finisher: &Finisher) {
    loop {
        sleep(INTERVAL).await;
        for attempt in shared.attempts.overdue(Instant::now()) {
            end(shared, finisher, &attempt);
        }
    }
}

fn end(shared: &Shared, finisher: &Finisher, attempt: &Attempt) {
    // Counted before it is ended, because the handler may return right after.
    shared.attempts.add_blocked();
    let Some((ticket, uncertain)) = attempt.end() else { return shared.attempts.remove_blocked() };
    let leased = &attempt.job;
    tracing::warn!(
        job.id = %leased.id,
        job.type = %leased.job_type,
        correlation_id = leased.correlation_id,
        blocked = shared.attempts.blocked(),
        "the handler of {} blocks its thread: the time-out of job {} is recorded, and the thread is lost until the handler returns",
        leased.job_type,
        leased.id,
    );
    let message = format!("The attempt took longer than {:?}, and its handler did not stop.", leased.timeout);
    let ending = ending_of(shared, leased, failure(ErrorKind::Timeout, message));
    let assignment_id = ticket.assignment_id;
    let end = AttemptEnd::of(&ticket, attempt.began_at.elapsed(), ending);
    finisher.record(Finished::new(ticket, end, None, uncertain));
    shared.free_slot(assignment_id);
}
