//! The seven colour families. A component with a tone takes text, background and marks from it.

use serde::{Deserialize, Serialize};

/// A colour family of the theme; it is never the only carrier of a meaning (a word and an icon go with it).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tone {
    /// Slate.
    Waiting,
    /// Blue.
    Processing,
    /// Amber.
    Retrying,
    /// Green.
    Delivered,
    /// Red: needs attention.
    Failed,
    /// Violet: waits for a rate limit.
    Limited,
    /// Grey: stopped, or unknown.
    #[default]
    Paused,
}

impl Tone {
    /// The class that sets `--tone`, `--tone-soft` and `--tone-solid` for everything inside.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Waiting => "tone-waiting",
            Self::Processing => "tone-processing",
            Self::Retrying => "tone-retrying",
            Self::Delivered => "tone-delivered",
            Self::Failed => "tone-failed",
            Self::Limited => "tone-limited",
            Self::Paused => "tone-paused",
        }
    }
}
