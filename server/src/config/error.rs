//! Errors of settings: one line that names the key, the value and what is accepted.

use std::{fmt, path::PathBuf};

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Flag,
    /// An environment variable of this name.
    Environment(&'static str),
    /// The TOML file.
    File(PathBuf),
    Default,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A value that is not accepted.
    #[error("{place}={value}: must be {accepted}")]
    Value {
        /// Flag, variable, or file and key.
        place: String,
        /// As it was given; hidden when it is a secret.
        value: String,
        accepted: String,
    },
    /// An unknown key.
    #[error("{place}={value}: there is no such setting{}", Suggestion(.nearest.as_deref()))]
    Unknown {
        /// Variable, or file and key.
        place: String,
        /// Its value; unless it is plain and short only the length, because it may be a secret under a misspelt name.
        value: String,
        /// The most similar known name.
        nearest: Option<String>,
    },
    #[error("{name}: its value is not valid UTF-8")]
    NotText { name: String },
    /// The file cannot be read.
    #[error("--config {path}: {reason}")]
    File { path: String, reason: String },
    /// Settings that contradict each other or the database, or a missing one.
    #[error("{0}")]
    Contradiction(String),
}

struct Suggestion<'a>(Option<&'a str>);

impl fmt::Display for Suggestion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(name) => write!(f, "; did you mean {name}?"),
            None => f.write_str("; `headgate serve --help` lists all settings"),
        }
    }
}
