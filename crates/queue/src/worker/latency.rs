//! How long attempts and waits take, and what was answered: gathered in memory from ends that were recorded, and written once a second as one small statement.
//!
//! For people, never for a decision: a process that is killed takes its last second with it, and that is why the finishing statement need
//! not carry any of it.

use crate::{
    store::{
        jobs::{Ending, Response},
        stats::{
            answers::NO_ANSWER,
            latency::{Spans, append},
        },
    },
    worker::{finisher::Finished, shared::Shared},
};
use model::id::IntegrationId;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

/// Between two writes.
const STEP: Duration = Duration::from_secs(1);
/// A write that takes longer is given up; it may be repeated, because whatever was not answered was most likely not done.
const PATIENCE: Duration = Duration::from_secs(3);

/// What was not written yet.
#[derive(Default)]
pub(super) struct Latencies {
    gathered: Mutex<HashMap<IntegrationId, Spans>>,
}

impl Latencies {
    /// Takes recorded ends in. Jobs given back or called off say nothing about how long an attempt takes.
    pub(super) fn note<'a>(&self, recorded: impl Iterator<Item = &'a Finished>) {
        let mut gathered = self.lock();
        for Finished { job, end, is_echo, .. } in recorded {
            if matches!(end.ending, Ending::Released { .. } | Ending::Cancelled { .. }) {
                continue;
            }
            let spans = gathered.entry(end.integration_id).or_default();
            spans.attempt_took(end.duration);
            // A bundle's request is answered once, whatever number of jobs it tells of.
            if let Some(status) = answer(&end.ending).filter(|_| !is_echo) {
                spans.was_answered(status);
            }
            if job.attempt == 1 {
                // Both on the database's clock.
                let waited = (job.started_at - job.run_at).to_std();
                spans.job_waited(waited.unwrap_or_default());
            }
        }
    }

    fn take(&self) -> HashMap<IntegrationId, Spans> {
        std::mem::take(&mut *self.lock())
    }

    fn put_back(&self, kept: HashMap<IntegrationId, Spans>) {
        let mut gathered = self.lock();
        for (integration_id, spans) in kept {
            gathered.entry(integration_id).or_default().merge(&spans);
        }
    }

    /// Plain counts: a panic elsewhere does not spoil them.
    fn lock(&self) -> MutexGuard<'_, HashMap<IntegrationId, Spans>> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What came back, if anything was sent.
fn answer(ending: &Ending) -> Option<i16> {
    let of = |response: &Response| i16::try_from(response.status).unwrap_or(NO_ANSWER);
    match ending {
        Ending::Completed { response, .. } => response.as_ref().map(of),
        Ending::Retried { failure, .. } | Ending::Dead { failure, .. } => {
            Some(failure.response.as_ref().map_or(NO_ANSWER, of))
        }
        Ending::Released { .. } | Ending::Cancelled { .. } => None,
    }
}

/// Writes what was gathered, each second and at the end.
pub(super) async fn write_latencies(shared: Arc<Shared>, end: CancellationToken) {
    let mut ticks = interval(STEP);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let is_last = tokio::select! {
            () = end.cancelled() => true,
            _ = ticks.tick() => false,
        };
        write(&shared).await;
        if is_last {
            return;
        }
    }
}

async fn write(shared: &Shared) {
    let gathered = shared.latencies.take();
    if gathered.is_empty() {
        return;
    }
    let written = timeout(PATIENCE, append(&shared.pool, &gathered)).await;
    if !matches!(written, Ok(Ok(()))) {
        // The finisher says when the database is away; here it costs nobody anything.
        tracing::debug!(?written, "latencies are kept for the next second");
        shared.latencies.put_back(gathered);
    }
}
