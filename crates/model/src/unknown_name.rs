//! The error of parsing a name that an enum does not have.

/// Not one of the names of an enum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not a known name")]
pub struct UnknownName;

impl UnknownName {
    pub(crate) const fn of(_: &str) -> Self {
        Self
    }
}
