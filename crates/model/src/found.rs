//! What an id belongs to.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A thing with an id that somebody looked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// What it is.
    pub kind: FoundKind,
    /// Where to look it up: of a dead letter its job.
    pub id: Uuid,
    /// What it is called.
    pub label: String,
}

/// Kinds of things that have ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FoundKind {
    /// A job in any state.
    Job,
    /// A dead letter.
    DeadLetter,
    /// An integration.
    Integration,
    /// A customer.
    App,
    /// A re-sync, or its batch.
    Resync,
    /// A bulk action.
    Operation,
    /// A process.
    Worker,
}

impl std::str::FromStr for FoundKind {
    type Err = crate::integration::UnknownName;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "job" => Self::Job,
            "dead_letter" => Self::DeadLetter,
            "integration" => Self::Integration,
            "app" => Self::App,
            "resync" => Self::Resync,
            "operation" => Self::Operation,
            "worker" => Self::Worker,
            _ => return Err(crate::integration::UnknownName),
        })
    }
}
