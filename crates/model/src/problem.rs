//! Faults of an input, each with the place it is at.

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

/// Collects every fault of an input, so that the caller mends all in one go.
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

    /// Adds a fault, which names what is accepted, when the value is given and outside the limits.
    pub fn require_within<N: PartialOrd + Into<i64> + Copy>(
        &mut self,
        value: Option<N>,
        limits: &RangeInclusive<N>,
        pointer: &str,
    ) {
        if value.is_some_and(|value| !limits.contains(&value)) {
            let (least, most) = ((*limits.start()).into(), (*limits.end()).into());
            self.add(pointer, format!("must be {} to {}", grouped(least), grouped(most)));
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

    /// Ok when nothing was found.
    ///
    /// # Errors
    /// Itself, when there is a fault.
    pub fn into_result(self) -> Result<(), Self> {
        if self.0.is_empty() { Ok(()) } else { Err(self) }
    }
}

impl std::fmt::Display for Faults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            let gap = if index == 0 { "" } else { "; " };
            write!(f, "{gap}{} {}", fault.pointer, fault.detail)?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}
