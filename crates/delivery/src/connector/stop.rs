//! How an attempt ends before there is an answer.

use chrono::{DateTime, Utc};
use model::rules::verdict::{ErrorKind, Verdict};
use queue::worker::{Failure, Outcome};

use crate::secrets::SealError;

#[derive(Clone, Debug)]
pub(super) enum Stop {
    /// No slot, or the integration does not run: the job is released until then.
    Later(DateTime<Utc>),
    /// Headgate's side fails: the job is retried.
    Retry(String),
    /// It can never be sent.
    GiveUp(String),
}

impl Stop {
    pub(super) fn give_up(message: &str) -> Self {
        Self::GiveUp(message.to_owned())
    }

    pub(super) fn into_outcome(self) -> Outcome {
        let retry = Verdict::Retry { kind: ErrorKind::Retryable, at_least: None, quiets_integration: false };
        let (verdict, message) = match self {
            Self::Later(until) => return Outcome::Released { until },
            Self::Retry(message) => (retry, message),
            Self::GiveUp(message) => (Verdict::GiveUp { pauses_integration: false }, message),
        };
        // An empty exchange says that nothing was sent; none would say that it is not known.
        let exchange = Some(Box::default());
        Outcome::Failed { error: Failure { verdict, message, response: None, sent_body: None, exchange } }
    }
}

/// A secret that cannot be decrypted is a fault of the settings: once they are right, the job goes through.
pub(super) fn unusable(error: SealError) -> Stop {
    Stop::Retry(format!("the integration's secret {error}"))
}
