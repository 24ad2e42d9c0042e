//! What the limits form says, as changes of an integration.

use crate::calls::{error::CallError, integrations::LimitsForm};
use model::{
    integration::IntegrationChanges,
    patch::Change,
    rate_limit::{RateLimit, RateLimits},
};
use std::str::FromStr;

/// Reads the form; the engine's own check judges the ranges.
///
/// # Errors
/// A field that is no number, or out of range.
pub fn changes(form: &LimitsForm) -> Result<IntegrationChanges, CallError> {
    let requests = number::<i32>(&form.requests)?;
    let rate_limit = match requests {
        Some(requests) => {
            let per_seconds = number(&form.per_seconds)?.unwrap_or(1);
            Change::Set(RateLimits::One(RateLimit { requests, per_seconds }))
        }
        None => Change::Clear,
    };
    let timeout_ms = match number::<i32>(&form.timeout_seconds)? {
        Some(seconds) => Change::Set(seconds.saturating_mul(1_000)),
        None => Change::Clear,
    };
    let changes = IntegrationChanges {
        rate_limit,
        timeout_ms,
        max_concurrency: number(&form.max_concurrency)?,
        max_attempts: number(&form.max_attempts)?.map_or(Change::Clear, Change::Set),
        ..IntegrationChanges::default()
    };
    changes.check().map_err(|faults| CallError::Invalid(faults.to_string()))?;
    Ok(changes)
}

fn number<N: FromStr>(text: &str) -> Result<Option<N>, CallError> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| CallError::Invalid(format!("{text} is not a whole number in range")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(requests: &str, per_seconds: &str, timeout: &str) -> LimitsForm {
        LimitsForm {
            requests: requests.to_owned(),
            per_seconds: per_seconds.to_owned(),
            max_concurrency: "50".to_owned(),
            timeout_seconds: timeout.to_owned(),
            max_attempts: String::new(),
        }
    }

    #[test]
    fn an_empty_field_takes_its_setting_away() {
        let changes = changes(&form("", "1", "")).expect("changes");
        assert_eq!((changes.rate_limit, changes.timeout_ms), (Change::Clear, Change::Clear));
        assert_eq!(changes.max_concurrency, Some(50));
    }

    #[test]
    fn a_limit_needs_numbers_in_range() {
        let set = changes(&form("20", "2", "30")).expect("changes");
        assert_eq!(set.rate_limit, Change::Set(RateLimits::One(RateLimit { requests: 20, per_seconds: 2 })));
        assert_eq!(set.timeout_ms, Change::Set(30_000));
        for (requests, per_seconds, timeout) in
            [("x", "1", ""), ("0", "1", ""), ("1", "99999", ""), ("1", "1", "-3")]
        {
            assert!(
                changes(&form(requests, per_seconds, timeout)).is_err(),
                "{requests} {per_seconds} {timeout}"
            );
        }
    }
}
