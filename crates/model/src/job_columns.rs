//! The columns of the list of jobs, and a reader's choice of them.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use strum::{EnumString, IntoStaticStr};

/// A column besides the job itself, which is always the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case", parse_err_ty = UnknownColumn, parse_err_fn = UnknownColumn::of)]
#[serde(try_from = "String", into = "String")]
pub enum JobColumn {
    /// Its state.
    Status,
    /// Its integration's name.
    Integration,
    /// Its app's name.
    App,
    /// Its integration's type.
    IntegrationType,
    /// Its type.
    JobType,
    /// Attempts so far.
    Attempt,
    /// Its priority.
    Priority,
    /// Its id.
    JobId,
    /// Its newest correlation id.
    CorrelationId,
    /// The id of its batch.
    BatchId,
    /// Its deduplication id.
    DeduplicationId,
    /// Its serialize key.
    SerializeKey,
    /// When it was accepted.
    CreatedAt,
    /// When its first attempt may start.
    RunAt,
    /// When its last attempt started.
    StartedAt,
    /// When its next attempt may start.
    RetryAt,
    /// When it completed, failed or was cancelled.
    EndedAt,
    /// When it expires.
    ExpiresAt,
    /// Changes that were folded into it.
    Folded,
    /// How it completed.
    Outcome,
    /// The kind of its last error.
    ErrorKind,
    /// Its last error.
    Error,
}

impl JobColumn {
    /// In the order of the table.
    pub const ALL: [Self; 22] = [
        Self::Status,
        Self::Integration,
        Self::App,
        Self::IntegrationType,
        Self::JobType,
        Self::Attempt,
        Self::Priority,
        Self::JobId,
        Self::CorrelationId,
        Self::BatchId,
        Self::DeduplicationId,
        Self::SerializeKey,
        Self::CreatedAt,
        Self::RunAt,
        Self::StartedAt,
        Self::RetryAt,
        Self::EndedAt,
        Self::ExpiresAt,
        Self::Folded,
        Self::Outcome,
        Self::ErrorKind,
        Self::Error,
    ];

    /// As it is written in addresses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl TryFrom<String> for JobColumn {
    type Error = UnknownColumn;

    fn try_from(word: String) -> Result<Self, UnknownColumn> {
        word.parse()
    }
}

impl From<JobColumn> for String {
    fn from(column: JobColumn) -> Self {
        column.as_str().to_owned()
    }
}

/// A column that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("columns: there is no column “{0}”. Known are {only}, {known}.", only = JOB_ONLY, known = known())]
pub struct UnknownColumn(String);

impl UnknownColumn {
    pub(crate) fn of(word: &str) -> Self {
        Self(word.chars().take(40).collect())
    }
}

fn known() -> String {
    JobColumn::ALL.map(JobColumn::as_str).join(", ")
}

/// Stands for no further column, because an empty parameter of an address counts as absent.
const JOB_ONLY: &str = "job";

/// A choice of columns, in the order of the table. It is written as in addresses: `status,app`, or `job` for none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobColumns(Vec<JobColumn>);

impl Default for JobColumns {
    fn default() -> Self {
        use JobColumn::{Attempt, CreatedAt, Error, Integration, Status};
        Self(vec![Status, Integration, Attempt, CreatedAt, Error])
    }
}

impl FromIterator<JobColumn> for JobColumns {
    fn from_iter<I: IntoIterator<Item = JobColumn>>(chosen: I) -> Self {
        let chosen: Vec<_> = chosen.into_iter().collect();
        Self(JobColumn::ALL.into_iter().filter(|column| chosen.contains(column)).collect())
    }
}

impl FromStr for JobColumns {
    type Err = UnknownColumn;

    fn from_str(words: &str) -> Result<Self, UnknownColumn> {
        let words = words.split(',').map(str::trim).filter(|word| !word.is_empty() && *word != JOB_ONLY);
        words.map(JobColumn::from_str).collect()
    }
}

impl fmt::Display for JobColumns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(JOB_ONLY);
        }
        let words: Vec<_> = self.iter().map(JobColumn::as_str).collect();
        f.write_str(&words.join(","))
    }
}

impl JobColumns {
    /// The chosen columns.
    pub fn iter(&self) -> impl Iterator<Item = JobColumn> {
        self.0.iter().copied()
    }

    /// Whether the column was chosen.
    #[must_use]
    pub fn has(&self, column: JobColumn) -> bool {
        self.0.contains(&column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_named_in_any_order_and_the_table_keeps_its_own() {
        let columns: JobColumns = "error,app,status,app".parse().expect("known");
        assert_eq!(columns.to_string(), "status,app,error");
    }

    #[test]
    fn the_job_alone_is_a_choice_too() {
        let columns: JobColumns = "job".parse().expect("known");
        assert_eq!((columns.iter().count(), columns.to_string().as_str()), (0, "job"));
    }

    #[test]
    fn an_unknown_column_is_reported_with_the_known_ones() {
        let says = "status,colour".parse::<JobColumns>().expect_err("unknown").to_string();
        assert!(
            says.starts_with("columns: there is no column “colour”. Known are job, status, integration, "),
            "{says}"
        );
        assert!(says.ends_with("error_kind, error."), "{says}");
    }
}
