//! Faults of an input, each with its field.

use crate::text::grouped;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// One fault of a request, as the `errors` of a problem document (RFC 9457) list them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FieldError {
    /// JSON Pointer (RFC 6901) into the body, or the name of a query parameter.
    pub pointer: String,
    /// What is wrong and what is accepted.
    pub detail: String,
}

/// All faults of an input, so that the caller can fix them at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(pub Vec<FieldError>);

impl Faults {
    /// Adds a fault.
    pub fn add(&mut self, pointer: impl Into<String>, detail: impl Into<String>) {
        self.0.push(FieldError { pointer: pointer.into(), detail: detail.into() });
    }

    /// Adds a fault when the condition does not hold.
    pub fn require(&mut self, holds: bool, pointer: &str, detail: &str) {
        if !holds {
            self.add(pointer, detail);
        }
    }

    /// Adds a fault with the accepted range when the value is given and outside of it.
    pub fn require_within<N: PartialOrd + Into<i64> + Copy>(
        &mut self,
        value: Option<N>,
        limits: &RangeInclusive<N>,
        pointer: &str,
    ) {
        if value.is_some_and(|value| !limits.contains(&value)) {
            let (min, max) = ((*limits.start()).into(), (*limits.end()).into());
            self.add(pointer, format!("must be {} to {}", grouped(min), grouped(max)));
        }
    }

    /// Adds the faults of a part, each below `prefix`.
    pub fn nest(&mut self, prefix: &str, part: Self) {
        self.0.extend(
            part.0.into_iter().map(|fault| FieldError {
                pointer: format!("{prefix}{}", fault.pointer),
                detail: fault.detail,
            }),
        );
    }

    /// # Errors
    /// Itself, unless it is empty.
    pub fn into_result(self) -> Result<(), Self> {
        if self.0.is_empty() { Ok(()) } else { Err(self) }
    }
}

impl std::fmt::Display for Faults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            let gap = if index == 0 { "" } else { "; " };
            match fault.pointer.as_str() {
                "" => write!(f, "{gap}{}", fault.detail)?,
                place => write!(f, "{gap}{place} {}", fault.detail)?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}
