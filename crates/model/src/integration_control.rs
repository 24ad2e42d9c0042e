//! Inputs and answers of actions on one integration: pause, test.

use crate::{integration::Integration, problem::Faults, text::sanitise};
use serde::{Deserialize, Serialize};

/// At most so many characters of a reason.
const MAX_REASON_CHARS: usize = 500;

/// The body of `POST /integrations/{id}/pause`, which may be empty.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Pause {
    /// Shown wherever the integration is shown, up to 500 characters.
    pub reason: Option<String>,
}

impl Pause {
    /// The reason as it is stored.
    ///
    /// # Errors
    /// It is too long.
    pub fn into_reason(self) -> Result<Option<String>, Faults> {
        let mut faults = Faults::default();
        let is_short = self.reason.as_ref().is_none_or(|reason| reason.chars().count() <= MAX_REASON_CHARS);
        faults.require(is_short, "/reason", "must be at most 500 characters");
        faults.into_result()?;
        Ok(self.reason.map(|reason| sanitise_reason(&reason)))
    }
}

/// A reason without characters that could disturb where it is shown, cut to the maximum.
#[must_use]
pub fn sanitise_reason(reason: &str) -> String {
    sanitise(reason, MAX_REASON_CHARS)
}

/// The result of a test, together with the integration.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TestAnswer {
    #[serde(flatten)]
    #[expect(missing_docs, reason = "the API document would show it beside the reference")]
    pub integration: Integration,
    /// Whether the answer was 2xx.
    pub is_success: bool,
    /// HTTP status of the answer; null when none came.
    pub response_status: Option<u16>,
    /// The beginning of the answer, sanitised.
    pub response_excerpt: Option<String>,
    /// Why no answer came, or what an answer other than 2xx means.
    pub error_message: Option<String>,
    /// How long the request took, in milliseconds.
    pub duration_ms: i64,
    /// The header `webhook-id` of the sample.
    pub webhook_id: String,
    /// The header `webhook-timestamp` of the sample.
    pub webhook_timestamp: String,
    /// The header `webhook-signature` of the sample: two while the secret rotates.
    pub webhook_signature: String,
    /// The exact bytes that were signed.
    pub body: String,
}
