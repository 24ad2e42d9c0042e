//! What ends an attempt before there is an answer.

use chrono::{DateTime, Utc};
use model::rules::verdict::{ErrorKind, Verdict};
use queue::worker::{Failure, Outcome};

use crate::secrets::SealError;

/// What ends the pipeline before there is an answer.
#[derive(Clone, Debug)]
pub(super) enum Stop {
    /// No slot, or the integration does not run: given back.
    Later(DateTime<Utc>),
    /// Something of ours does not work: tried again.
    Retry(String),
    /// It can never be sent.
    GiveUp(String),
}

impl Stop {
    pub(super) fn give_up(message: &str) -> Self {
        Self::GiveUp(message.to_owned())
    }

    pub(super) fn into_outcome(self) -> Outcome {
        let retry = Verdict::Retry { kind: ErrorKind::Retryable, at_least: None, holds_integration: false };
        let (verdict, message) = match self {
            Self::Later(until) => return Outcome::Released { until },
            Self::Retry(message) => (retry, message),
            Self::GiveUp(message) => (Verdict::GiveUp { pauses_integration: false }, message),
        };
        // Nothing was sent, which is to be told from what is not known.
        let exchange = Some(Box::default());
        Outcome::Failed { error: Failure { verdict, message, response: None, sent_body: None, exchange } }
    }
}

/// A secret that does not open is a matter of settings: once they are right, the job goes through.
pub(super) fn unusable(error: SealError) -> Stop {
    Stop::Retry(format!("the integration's secret {error}"))
}
