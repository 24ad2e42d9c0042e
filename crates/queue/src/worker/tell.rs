//! Shows handlers what became of their attempts, inside the transaction that records it.
//!
//! A handler that panics here is one that refused: the transaction is rolled back, and what it was shown is kept for a repetition.

use crate::{
    error::QueueError,
    store::jobs::{Applied, Ending},
    worker::{AttemptHandler, EndedAs, EndedJob, Handlers, finisher::Finished},
};
use futures::FutureExt as _;
use sqlx::PgConnection;
use std::{panic::AssertUnwindSafe, sync::Arc};

/// Shows each handler those of its jobs that did complete, and those of its attempts that did not.
pub(super) async fn handlers(
    handlers: &Handlers,
    connection: &mut PgConnection,
    batch: &mut [Finished],
    applied: &[Applied],
) -> Result<(), QueueError> {
    let with = |wanted: Applied| {
        let is_wanted = |at: &usize| applied.get(*at) == Some(&wanted) && !batch[*at].is_bare;
        (0..batch.len()).filter(is_wanted).collect::<Vec<_>>()
    };
    let called_off = with(Applied::CalledOff);
    let (completed, ended): (Vec<usize>, Vec<usize>) =
        with(Applied::Yes).into_iter().partition(|at| ended_as(&batch[*at].end.ending).is_none());
    for (handler, indices) in by_handler(handlers, batch, completed) {
        completed_jobs(&*handler, connection, batch, indices).await?;
    }
    for (ended, fixed) in [(ended, None), (called_off, Some(EndedAs::Cancelled))] {
        for (handler, indices) in by_handler(handlers, batch, ended) {
            ended_jobs(&*handler, connection, batch, &indices, fixed).await?;
        }
    }
    Ok(())
}

/// Shows the handler an attempt whose end was not recorded.
pub(super) async fn unrecorded(
    handlers: &Handlers,
    connection: &mut PgConnection,
    finished: &mut Finished,
) -> Result<(), QueueError> {
    let handler = Arc::clone(handlers.of(&finished.job.job_type));
    let one = std::slice::from_mut(finished);
    ended_jobs(&*handler, connection, one, &[0], Some(EndedAs::Unrecorded)).await
}

fn by_handler(
    handlers: &Handlers,
    batch: &[Finished],
    indices: Vec<usize>,
) -> Vec<(Arc<dyn AttemptHandler>, Vec<usize>)> {
    let mut found: Vec<(Arc<dyn AttemptHandler>, Vec<usize>)> = Vec::new();
    for index in indices {
        let handler = handlers.of(&batch[index].job.job_type);
        match found.iter_mut().find(|(known, _)| Arc::ptr_eq(known, handler)) {
            Some((_, indices)) => indices.push(index),
            None => found.push((Arc::clone(handler), vec![index])),
        }
    }
    found
}

async fn completed_jobs(
    handler: &dyn AttemptHandler,
    connection: &mut PgConnection,
    batch: &mut [Finished],
    indices: Vec<usize>,
) -> Result<(), QueueError> {
    let (indices, done) =
        indices.into_iter().filter_map(|index| Some((index, batch[index].done.take()?))).unzip();
    let lent = Lent { batch, indices, things: done, give_back: |finished, done| finished.done = Some(done) };
    if lent.things.is_empty() {
        return Ok(());
    }
    Ok(caught(handler.on_completed(connection, &lent.things)).await?)
}

async fn ended_jobs(
    handler: &dyn AttemptHandler,
    connection: &mut PgConnection,
    batch: &mut [Finished],
    indices: &[usize],
    fixed: Option<EndedAs>,
) -> Result<(), QueueError> {
    let ended: Vec<EndedJob> = indices
        .iter()
        .map(|index| {
            let finished = &mut batch[*index];
            let job = &finished.job;
            EndedJob {
                id: job.id,
                app_id: job.app_id,
                integration_id: job.integration_id,
                job_type: job.job_type.clone(),
                record: job.record(),
                ended_as: fixed.or_else(|| ended_as(&finished.end.ending)).unwrap_or(EndedAs::Unrecorded),
                may_have_arrived: job.may_have_arrived,
                doubt: finished.doubt.take(),
            }
        })
        .collect();
    let lent = Lent {
        batch,
        indices: indices.to_vec(),
        things: ended,
        give_back: |finished, ended| finished.doubt = ended.doubt,
    };
    Ok(caught(handler.on_ended(connection, &lent.things)).await?)
}

/// What a handler is shown of a batch. It goes back however that ends, also when the transaction is cut off in the middle: what is told again
/// must be told in full.
struct Lent<'a, T> {
    batch: &'a mut [Finished],
    indices: Vec<usize>,
    things: Vec<T>,
    give_back: fn(&mut Finished, T),
}

impl<T> Drop for Lent<'_, T> {
    fn drop(&mut self) {
        for (index, thing) in self.indices.drain(..).zip(self.things.drain(..)) {
            (self.give_back)(&mut self.batch[index], thing);
        }
    }
}

async fn caught(told: impl Future<Output = Result<(), sqlx::Error>>) -> Result<(), sqlx::Error> {
    AssertUnwindSafe(told)
        .catch_unwind()
        .await
        .unwrap_or_else(|_| Err(sqlx::Error::Protocol("the handler panicked in the transaction".to_owned())))
}

/// None: it completed.
fn ended_as(ending: &Ending) -> Option<EndedAs> {
    match ending {
        Ending::Completed { .. } => None,
        Ending::Cancelled { .. } => Some(EndedAs::Cancelled),
        Ending::Retried { .. } => Some(EndedAs::Retried),
        Ending::Dead { .. } => Some(EndedAs::Dead),
        Ending::Released { .. } => Some(EndedAs::Released),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        store::jobs::End,
        worker::{Doubt, sample_job::plain},
    };
    use std::{any::Any, time::Duration};

    fn doubtful() -> Finished {
        let job = plain();
        let end = End::of(&job, Duration::ZERO, Ending::Cancelled { why: "cancelled" });
        Finished::new(job, end, None, Some(Box::new(7) as Box<dyn Any + Send + Sync>))
    }

    #[tokio::test]
    async fn what_was_being_told_when_the_time_was_over_can_be_told_again() {
        let mut batch = [doubtful()];
        let doubt: Vec<Doubt> = batch[0].doubt.take().into_iter().collect();
        let telling = async {
            let _lent = Lent {
                batch: &mut batch,
                indices: vec![0],
                things: doubt,
                give_back: |finished, doubt| finished.doubt = Some(doubt),
            };
            std::future::pending::<()>().await;
        };
        assert!(futures::poll!(Box::pin(telling)).is_pending());
        assert!(batch[0].doubt.is_some());
    }
}
