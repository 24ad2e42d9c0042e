//! Calls `on_completed` and `on_ended` of the handlers, inside the transaction that records the ends.
//!
//! A panic of a handler counts as an error: the transaction is rolled back, and the arguments are kept for the next try.

use crate::error::Result;
use crate::store::jobs::{Applied, Ending};
use crate::worker::finish::Finished;
use crate::worker::handler::{AttemptHandler, EndedAs, EndedJob, Handlers};
use futures::FutureExt as _;
use sqlx::PgConnection;
use std::{panic::AssertUnwindSafe, sync::Arc};

/// Calls each handler for its completed jobs, and for its attempts that did not complete their jobs.
pub(crate) async fn handlers(
    handlers: &Handlers,
    connection: &mut PgConnection,
    batch: &mut [Finished],
    applied: &[Applied],
) -> Result<()> {
    let with = |wanted: Applied| {
        let is_wanted = |at: &usize| applied.get(*at) == Some(&wanted) && !batch[*at].skips_handler;
        (0..batch.len()).filter(is_wanted).collect::<Vec<_>>()
    };
    let cancelled = with(Applied::Cancelled);
    let (completed, ended): (Vec<usize>, Vec<usize>) =
        with(Applied::Yes).into_iter().partition(|at| ended_as(&batch[*at].end.ending).is_none());
    for (handler, indices) in by_handler(handlers, batch, completed) {
        completed_jobs(&*handler, connection, batch, indices).await?;
    }
    for (ended, fixed) in [(ended, None), (cancelled, Some(EndedAs::Cancelled))] {
        for (handler, indices) in by_handler(handlers, batch, ended) {
            ended_jobs(&*handler, connection, batch, &indices, fixed).await?;
        }
    }
    Ok(())
}

/// Calls the handler for an attempt whose end was not recorded.
pub(crate) async fn unrecorded(
    handlers: &Handlers,
    connection: &mut PgConnection,
    finished: &mut Finished,
) -> Result<()> {
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
) -> Result<()> {
    let (indices, done) =
        indices.into_iter().filter_map(|index| Some((index, batch[index].done.take()?))).unzip();
    let lent =
        Lent { batch, indices, arguments: done, put_back: |finished, done| finished.done = Some(done) };
    if lent.arguments.is_empty() {
        return Ok(());
    }
    Ok(caught(handler.on_completed(connection, &lent.arguments)).await?)
}

async fn ended_jobs(
    handler: &dyn AttemptHandler,
    connection: &mut PgConnection,
    batch: &mut [Finished],
    indices: &[usize],
    fixed: Option<EndedAs>,
) -> Result<()> {
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
                uncertain: finished.uncertain.take(),
            }
        })
        .collect();
    let lent = Lent {
        batch,
        indices: indices.to_vec(),
        arguments: ended,
        put_back: |finished, ended| finished.uncertain = ended.uncertain,
    };
    Ok(caught(handler.on_ended(connection, &lent.arguments)).await?)
}

/// A handler's arguments, taken out of a batch. They are put back however the call ends, even if the transaction is cut off in the middle, because
/// the next try needs all of them.
struct Lent<'a, T> {
    batch: &'a mut [Finished],
    indices: Vec<usize>,
    arguments: Vec<T>,
    put_back: fn(&mut Finished, T),
}

impl<T> Drop for Lent<'_, T> {
    fn drop(&mut self) {
        for (index, thing) in self.indices.drain(..).zip(self.arguments.drain(..)) {
            (self.put_back)(&mut self.batch[index], thing);
        }
    }
}

async fn caught(call: impl Future<Output = Result<(), sqlx::Error>>) -> Result<(), sqlx::Error> {
    AssertUnwindSafe(call)
        .catch_unwind()
        .await
        .unwrap_or_else(|_| Err(sqlx::Error::Protocol("the handler panicked in the transaction".to_owned())))
}

/// None for a completed job.
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
    use crate::store::jobs::AttemptEnd;
    use crate::worker::handler::Uncertain;
    use crate::worker::sample_job::plain;
    use std::{any::Any, time::Duration};

    fn uncertain_end() -> Finished {
        let job = plain();
        let end = AttemptEnd::of(&job, Duration::ZERO, Ending::Cancelled { why: "cancelled" });
        Finished::new(job, end, None, Some(Box::new(7) as Box<dyn Any + Send + Sync>))
    }

    #[tokio::test]
    async fn arguments_of_a_call_that_was_cut_off_are_put_back() {
        let mut batch = [uncertain_end()];
        let uncertain: Vec<Uncertain> = batch[0].uncertain.take().into_iter().collect();
        let call = async {
            let _lent = Lent {
                batch: &mut batch,
                indices: vec![0],
                arguments: uncertain,
                put_back: |finished, uncertain| finished.uncertain = Some(uncertain),
            };
            std::future::pending::<()>().await;
        };
        assert!(futures::poll!(Box::pin(call)).is_pending());
        assert!(batch[0].uncertain.is_some());
    }
}
