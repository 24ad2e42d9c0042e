//! Faults of a refused form, which its page shows at the fields.

use super::redirect;
use crate::{
    calls::error::{CallError, FormRefused},
    components::Outcome,
    state::{form_draft::DraftFault, page_url::PageUrl},
};
use access::AccessError;
use delivery::DeliveryError;
use model::problem::Faults;
use queue::QueueError;
use service::ServiceError;

pub enum Refusal {
    Call(CallError),
    /// Some conflicts belong to a field.
    Access(AccessError),
    Faults(Faults),
}

impl From<CallError> for Refusal {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

impl From<Faults> for Refusal {
    fn from(faults: Faults) -> Self {
        Self::Faults(faults)
    }
}

impl From<ServiceError> for Refusal {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::Delivery(
                DeliveryError::Invalid(faults) | DeliveryError::Queue(QueueError::Invalid(faults)),
            ) => Self::Faults(faults),
            ServiceError::Access(error) => Self::Access(error),
            error => Self::Call(error.into()),
        }
    }
}

/// Redirects back with the outcome. The address of a refused form carries what was typed and which fields are wrong.
pub async fn answer(
    back: &str,
    made: Result<Outcome, Refusal>,
    draft: impl FnOnce(PageUrl, &[DraftFault]) -> PageUrl,
) -> Result<(), FormRefused> {
    let (faults, made) = with_faults(made);
    redirect::answer_with(back, |url| draft(url, &faults), async { made }).await
}

/// Splits a refusal into the faults of fields and the answer of the form.
fn with_faults(made: Result<Outcome, Refusal>) -> (Vec<DraftFault>, Result<Outcome, CallError>) {
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
