//! A value that cannot be printed.

/// A value that must not reach a log, an audit line, an export or an answer by accident: no `Debug`, no `Display`, no serde.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Wraps a value.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// The value. Its callers are all the code that reads secrets.
    pub fn expose(&self) -> &T {
        &self.0
    }

    /// The value itself.
    pub fn into_exposed(self) -> T {
        self.0
    }
}
