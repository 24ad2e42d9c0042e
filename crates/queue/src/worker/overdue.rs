//! Ends attempts that their own task cannot end, because the handler does not yield.

use crate::{
    store::jobs::End,
    worker::{
        attempts::Attempt,
        execute::{ending_of, failure},
        finisher::{Finished, Finisher},
        shared::Shared,
    },
};
use model::rules::verdict::ErrorKind;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Between two looks.
const STEP: Duration = Duration::from_millis(250);

/// Looks until it is dropped.
pub(super) async fn oversee(shared: &Shared, finisher: &Finisher) {
    loop {
        sleep(STEP).await;
        for attempt in shared.attempts.overdue(Instant::now()) {
            end(shared, finisher, &attempt);
        }
    }
}

fn end(shared: &Shared, finisher: &Finisher, attempt: &Attempt) {
    // Counted before it is ended: the handler may come back the very moment after.
    shared.attempts.add_blocked();
    let Some((ticket, doubt)) = attempt.end() else { return shared.attempts.came_back() };
    let held = &attempt.held;
    tracing::warn!(
        job.id = %held.id,
        job.type = %held.job_type,
        correlation_id = held.correlation_id,
        blocked = shared.attempts.blocked(),
        "the handler of {} blocks its thread: the time-out of job {} is recorded, and the thread is lost until the handler comes back",
        held.job_type,
        held.id,
    );
    let message = format!("The attempt took longer than {:?}, and its handler did not stop.", held.timeout);
    let ending = ending_of(shared, held, failure(ErrorKind::Timeout, message));
    let assignment_id = ticket.assignment_id;
    let end = End::of(&ticket, attempt.began_at.elapsed(), ending);
    finisher.record(Finished::new(ticket, end, None, doubt));
    shared.let_go(assignment_id);
}
