//! The seven colour families. A part that wears a tone draws text, ground and marks from it.

use serde::{Deserialize, Serialize};

/// A colour family of the theme; never the only carrier of a meaning (a word and an icon go with it).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tone {
    /// Slate: it will come.
    Waiting,
    /// Blue: it is happening.
    Processing,
    /// Amber: it will be tried again.
    Retrying,
    /// Green: it is done.
    Delivered,
    /// Red: it needs someone.
    Failed,
    /// Violet: a limit holds it.
    Limited,
    /// Grey: somebody stopped it, or nothing is known.
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
