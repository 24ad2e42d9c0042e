//! Faults of a refused form, which its page shows at the fields.

use super::redirect;
use crate::calls::error::{CallError, FormRefused};
use crate::components::Outcome;
use crate::state::form_draft::DraftFault;
use crate::state::page_url::PageUrl;
use model::problem::{Faults, FieldError};
use service::ServiceError;

pub enum Refusal {
    Call(CallError),
    Faults(Faults),
    /// A conflict that belongs to a field, and its sentence.
    Conflict(DraftFault, String),
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
        match error.conflict() {
            Some("email-taken") => Self::Conflict(DraftFault::EmailTaken, error.to_string()),
            Some("last-operator") => Self::Conflict(DraftFault::LastOperator, error.to_string()),
            _ => error.into_faults().map_or_else(|error| Self::Call(error.into()), Self::Faults),
        }
    }
}

/// Redirects back with the outcome. The address of a refused form carries what was typed and which fields are wrong.
pub async fn answer(
    back: &str,
    made: Result<Outcome, Refusal>,
    draft: impl FnOnce(PageUrl, &[DraftFault]) -> PageUrl,
) -> Result<(), FormRefused> {
    answer_with(back, made, |fault| DraftFault::at(&fault.pointer), draft).await
}

/// As [`answer`], for a form with its own words for faults.
pub async fn answer_with(
    back: &str,
    made: Result<Outcome, Refusal>,
    word: impl Fn(&FieldError) -> Option<DraftFault>,
    draft: impl FnOnce(PageUrl, &[DraftFault]) -> PageUrl,
) -> Result<(), FormRefused> {
    let (faults, made) = match made {
        Ok(outcome) => (Vec::new(), Ok(outcome)),
        Err(Refusal::Call(error)) => (Vec::new(), Err(error)),
        Err(Refusal::Conflict(fault, sentence)) => (vec![fault], Err(CallError::Invalid(sentence))),
        Err(Refusal::Faults(faults)) => {
            (faults.0.iter().filter_map(word).collect(), Err(CallError::Invalid(faults.to_string())))
        }
    };
    redirect::answer_with(back, |url| draft(url, &faults), async { made }).await
}
