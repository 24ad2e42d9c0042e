//! Results of a search by id.

use crate::unknown_name::UnknownName;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// An object found by its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Kind of the object.
    pub kind: FoundKind,
    /// Id of its page: for a dead letter, that of its job.
    pub id: Uuid,
    /// Its name.
    pub label: String,
}

/// Kinds of objects that can be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FoundKind {
    /// A job in any state.
    Job,
    /// A dead letter.
    DeadLetter,
    /// An integration.
    Integration,
    /// An app.
    App,
    /// A re-sync, or its batch.
    Resync,
    /// A bulk operation.
    Operation,
    /// A process.
    Worker,
}

impl std::str::FromStr for FoundKind {
    type Err = UnknownName;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "job" => Self::Job,
            "dead_letter" => Self::DeadLetter,
            "integration" => Self::Integration,
            "app" => Self::App,
            "resync" => Self::Resync,
            "operation" => Self::Operation,
            "worker" => Self::Worker,
            _ => return Err(UnknownName),
        })
    }
}
