//! Refusals of a form as words its page can show at the fields.

use super::redirect;
use crate::{
    calls::error::{CallError, FormRefused},
    components::Outcome,
    state::{page_url::PageUrl, user_draft::DraftFault},
};
use access::AccessError;
use delivery::DeliveryError;
use model::problem::Faults;
use queue::QueueError;
use steering::SteeringError;

/// Why a form about users and keys was refused.
pub enum Refusal {
    /// As any call is.
    Call(CallError),
    /// By what it says.
    Access(AccessError),
    /// At its fields.
    Faults(Faults),
}

impl From<CallError> for Refusal {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

impl From<AccessError> for Refusal {
    fn from(error: AccessError) -> Self {
        Self::Access(error)
    }
}

impl From<Faults> for Refusal {
    fn from(faults: Faults) -> Self {
        Self::Faults(faults)
    }
}

impl From<SteeringError> for Refusal {
    fn from(error: SteeringError) -> Self {
        match error {
            SteeringError::Delivery(
                DeliveryError::Invalid(faults) | DeliveryError::Queue(QueueError::Invalid(faults)),
            ) => Self::Faults(faults),
            error => Self::Call(error.into()),
        }
    }
}

/// Goes back with what came of it; a refused form's address says what was typed and which fields are wrong.
///
/// # Errors
/// As [`redirect::answer`].
pub async fn answer(
    back: &str,
    made: Result<Outcome, Refusal>,
    draft: impl FnOnce(PageUrl, &[DraftFault]) -> PageUrl,
) -> Result<(), FormRefused> {
    let (faults, made) = judged(made);
    redirect::answer_with(back, |url| draft(url, &faults), async { made }).await
}

/// What is wrong with which field, and what the form's answer is then.
fn judged(made: Result<Outcome, Refusal>) -> (Vec<DraftFault>, Result<Outcome, CallError>) {
    let error = match made {
        Ok(outcome) => return (Vec::new(), Ok(outcome)),
        Err(Refusal::Call(error)) => return (Vec::new(), Err(error)),
        Err(Refusal::Faults(faults)) => AccessError::Invalid(faults),
        Err(Refusal::Access(error)) => error,
    };
    let faults = match &error {
        AccessError::Conflict { code: "email-taken", .. } => vec![DraftFault::EmailTaken],
        AccessError::Conflict { code: "last-operator", .. } => vec![DraftFault::LastOperator],
        AccessError::Invalid(faults) => {
            faults.0.iter().filter_map(|fault| DraftFault::at(&fault.pointer)).collect()
        }
        _ => Vec::new(),
    };
    let answer = if faults.is_empty() { error.into() } else { CallError::Invalid(error.to_string()) };
    (faults, Err(answer))
}
