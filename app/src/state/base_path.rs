//! The mount prefix behind a reverse proxy (`HEADGATE_BASE_PATH`), which every link and form begins with.

use leptos::prelude::*;
use std::sync::Arc;

/// `""` at the root, `"/headgate"` below a prefix; never with a trailing slash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BasePath(Arc<str>);

impl BasePath {
    pub fn new(prefix: &str) -> Self {
        Self(prefix.trim_end_matches('/').into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The prefix and a path from the console's root.
    pub fn join(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }
}

/// The prefix of this page: the server provides it, the browser reads it from `<html data-base>`.
pub fn current() -> BasePath {
    use_context::<BasePath>().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::BasePath;

    #[test]
    fn paths_are_joined_with_one_slash() {
        for (prefix, want) in
            [("/", "/jobs"), ("", "/jobs"), ("/gate", "/gate/jobs"), ("/gate/", "/gate/jobs")]
        {
            assert_eq!(BasePath::new(prefix).join("/jobs"), want);
        }
    }
}
