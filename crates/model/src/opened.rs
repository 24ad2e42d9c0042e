//! The object whose page is open in the console, and the live updates of it.

use crate::id::{IntegrationId, JobId, OperationId};
use crate::job::JobDetail;
use crate::rules::explain::Explanation;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// The object of a page. Written as kind and id: `job:0190…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Opened {
    /// A job.
    Job(JobId),
    /// An integration.
    Integration(IntegrationId),
    /// A background operation.
    Operation(OperationId),
}

impl Opened {
    /// Its kind, which is also the name of its live events.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Job(_) => "job",
            Self::Integration(_) => "integration",
            Self::Operation(_) => "operation",
        }
    }
}

impl fmt::Display for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = match self {
            Self::Job(id) => id.0,
            Self::Integration(id) => id.0,
            Self::Operation(id) => id.0,
        };
        write!(f, "{}:{id}", self.kind())
    }
}

/// Not an [`Opened`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be `job:`, `integration:` or `operation:` and an id")]
pub struct UnknownThing;

impl FromStr for Opened {
    type Err = UnknownThing;

    fn from_str(text: &str) -> Result<Self, UnknownThing> {
        let (kind, id) = text.split_once(':').ok_or(UnknownThing)?;
        let opened = match kind {
            "job" => id.parse().map(Self::Job),
            "integration" => id.parse().map(Self::Integration),
            "operation" => id.parse().map(Self::Operation),
            _ => return Err(UnknownThing),
        };
        opened.map_err(|_| UnknownThing)
    }
}

impl From<Opened> for String {
    fn from(opened: Opened) -> Self {
        opened.to_string()
    }
}

impl TryFrom<String> for Opened {
    type Error = UnknownThing;

    fn try_from(text: String) -> Result<Self, UnknownThing> {
        text.parse()
    }
}

/// Data of the `job`, `integration` and `operation` events of `GET /live`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LiveUpdate<T> {
    /// When reading began, by the database's clock; a later time is a newer version.
    pub at: DateTime<Utc>,
    /// The object.
    pub now: T,
}

/// A job with its explanation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExplainedJob {
    /// As `GET /jobs/{id}` answers it.
    pub detail: JobDetail,
    /// As `GET /jobs/{id}/explain` answers it.
    pub explanation: Explanation,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opened_object_reads_back() {
        for opened in [
            Opened::Job(JobId::generate()),
            Opened::Integration(IntegrationId::generate()),
            Opened::Operation(OperationId::generate()),
        ] {
            let text = opened.to_string();
            assert!(text.starts_with(opened.kind()), "{text}");
            assert_eq!(text.parse(), Ok(opened));
        }
        for text in ["", "job", "job:7", "app:01890a5d-ac96-774b-bcce-b302099a8057"] {
            assert_eq!(text.parse::<Opened>(), Err(UnknownThing), "{text}");
        }
    }
}
