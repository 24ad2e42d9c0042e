//! A value that cannot be printed.

/// Something that must not reach a log, an audit line, an export or an answer by accident: no `Debug`, no `Display`, no serde.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Wraps a value.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// The value: the one place to look for when asking who reads secrets.
    pub fn expose(&self) -> &T {
        &self.0
    }

    /// The value itself.
    pub fn into_exposed(self) -> T {
        self.0
    }
}
