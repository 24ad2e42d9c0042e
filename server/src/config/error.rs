//! Why a setting stops the start: one line that names the key, the value and what is accepted.

use std::{fmt, path::PathBuf};

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A flag of the command line.
    Flag,
    /// An environment variable of this name.
    Environment(&'static str),
    /// The TOML file.
    File(PathBuf),
    /// Nobody said anything.
    Default,
}

/// Why the settings cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A value that is not accepted.
    #[error("{place}={value}: must be {accepted}")]
    Value {
        /// Flag, variable or file and key.
        place: String,
        /// As it was given; hidden when it is a secret.
        value: String,
        /// What would do.
        accepted: String,
    },
    /// A key nobody knows.
    #[error("{place}={value}: there is no such setting{}", Suggestion(.nearest.as_deref()))]
    Unknown {
        /// Variable, or file and key.
        place: String,
        /// Its value, which may be a secret under a misspelt name: only its length is said.
        value: String,
        /// The known name that looks most like it.
        nearest: Option<String>,
    },
    /// A variable whose value is no text.
    #[error("{name}: its value is not valid UTF-8")]
    NotText {
        /// Which.
        name: String,
    },
    /// The file cannot be read.
    #[error("--config {path}: {reason}")]
    File {
        /// Which file.
        path: String,
        /// Why, in one line.
        reason: String,
    },
    /// Settings that do not go together.
    #[error("{0}")]
    Contradiction(String),
}

struct Suggestion<'a>(Option<&'a str>);

impl fmt::Display for Suggestion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(name) => write!(f, "; did you mean {name}?"),
            None => f.write_str("; `headgate serve --help` lists those there are"),
        }
    }
}
