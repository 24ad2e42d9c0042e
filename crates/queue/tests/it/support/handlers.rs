//! Handlers that run a test's closure, and common outcomes.

use async_trait::async_trait;
use futures::future::BoxFuture;
use model::rules::verdict::{ErrorKind, Verdict};
use queue::store::jobs::{Completion, Ending, Failure, Response};
use queue::worker::{AttemptHandler, LeasedJob, Outcome};
use std::{sync::Arc, time::Duration};

type Act = dyn for<'a> Fn(&'a LeasedJob) -> BoxFuture<'a, Outcome> + Send + Sync;

/// Runs a closure for each job.
pub(crate) struct Script(Box<Act>);

impl Script {
    pub(crate) fn new(
        act: impl for<'a> Fn(&'a LeasedJob) -> BoxFuture<'a, Outcome> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self(Box::new(act)))
    }
}

#[async_trait]
impl AttemptHandler for Script {
    async fn run(&self, job: &LeasedJob) -> Outcome {
        (self.0)(job).await
    }
}

pub(crate) fn sent() -> Ending {
    Ending::Completed {
        how: Completion::Sent,
        response: Some(Response { status: 200, excerpt: "ok".into(), duration: Duration::from_millis(5) }),
        result: None,
    }
}

fn failure(message: &str) -> Failure {
    Failure {
        verdict: Verdict::Retry { kind: ErrorKind::Retryable, at_least: None, quiets_integration: false },
        message: message.into(),
        response: Some(Response {
            status: 503,
            excerpt: "no\0 way".into(),
            duration: Duration::from_millis(5),
        }),
        sent_body: None,
        exchange: None,
    }
}

pub(crate) fn retried(wait: Duration) -> Ending {
    Ending::Retried {
        failure: failure("shelf 12 is full"),
        attempt_outcome: model::attempt::AttemptOutcome::Failed,
        wait,
        wait_reason: "step 1 of the retry schedule".to_owned(),
    }
}

pub(crate) fn given_up() -> Ending {
    Ending::Dead {
        failure: failure("shelf 13 is full"),
        attempt_outcome: model::attempt::AttemptOutcome::Failed,
        kind: ErrorKind::RetriesExceeded,
    }
}

/// The outcome of a handler that succeeded.
pub(crate) fn ok() -> Outcome {
    Outcome::Completed { how: Completion::Done, response: None, result: None, receipt: None }
}

/// The outcome of a handler that failed with this verdict.
pub(crate) fn failed(verdict: Verdict) -> Outcome {
    Outcome::Failed { error: Failure { verdict, ..failure("no") } }
}
