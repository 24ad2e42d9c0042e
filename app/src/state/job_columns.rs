//! The columns of the list of jobs: in the address, and remembered for the next visit.

use super::page_url::PageUrl;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// Name of the cookie. It holds words of [`JobColumn::ALL`] and nothing about the reader.
pub const COOKIE: &str = "headgate_job_columns";

/// In the address for no further column, because an empty parameter counts as absent.
const JOB_ONLY: &str = "job";

/// A column besides the job itself, which is always the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum JobColumn {
    Status,
    Integration,
    App,
    IntegrationType,
    JobType,
    Attempt,
    Priority,
    JobId,
    CorrelationId,
    BatchId,
    DeduplicationId,
    SerializeKey,
    CreatedAt,
    RunAt,
    StartedAt,
    RetryAt,
    EndedAt,
    ExpiresAt,
    Folded,
    Outcome,
    ErrorKind,
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

    /// The value in the address, and the heading of the column.
    pub const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Status => ("status", "State"),
            Self::Integration => ("integration", "Integration"),
            Self::App => ("app", "App"),
            Self::IntegrationType => ("integration_type", "Type"),
            Self::JobType => ("job_type", "Kind"),
            Self::Attempt => ("attempt", "Attempts"),
            Self::Priority => ("priority", "Priority"),
            Self::JobId => ("job_id", "Job id"),
            Self::CorrelationId => ("correlation_id", "Correlation"),
            Self::BatchId => ("batch_id", "Batch"),
            Self::DeduplicationId => ("deduplication_id", "Deduplication"),
            Self::SerializeKey => ("serialize_key", "Order key"),
            Self::CreatedAt => ("created_at", "Accepted"),
            Self::RunAt => ("run_at", "Not before"),
            Self::StartedAt => ("started_at", "Last attempt"),
            Self::RetryAt => ("retry_at", "Next attempt"),
            Self::EndedAt => ("ended_at", "Ended"),
            Self::ExpiresAt => ("expires_at", "Expires"),
            Self::Folded => ("folded", "Folded in"),
            Self::Outcome => ("outcome", "Outcome"),
            Self::ErrorKind => ("error_kind", "Error kind"),
            Self::Error => ("error", "Last error"),
        }
    }

    /// Numbers are aligned to the right.
    pub const fn is_number(self) -> bool {
        matches!(self, Self::Attempt | Self::Priority | Self::Folded)
    }
}

impl FromStr for JobColumn {
    type Err = UnknownColumn;
    fn from_str(word: &str) -> Result<Self, UnknownColumn> {
        let found = Self::ALL.into_iter().find(|column| column.words().0 == word);
        found.ok_or_else(|| UnknownColumn(word.chars().take(40).collect()))
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
        column.words().0.to_owned()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownColumn(String);

impl fmt::Display for UnknownColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<_> = JobColumn::ALL.iter().map(|column| column.words().0).collect();
        write!(f, "columns: there is no column “{}”. Known are {JOB_ONLY}, {}.", self.0, known.join(", "))
    }
}

/// A choice of columns, in the order of the table.
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

impl JobColumns {
    /// The columns in an address, if any. The dialog about selected rows carries the list's address in `back`.
    ///
    /// # Errors
    /// The first unknown column.
    pub fn of(url: &PageUrl) -> Result<Option<Self>, UnknownColumn> {
        let list = url.get("back").map(PageUrl::parse_back);
        list.as_ref().unwrap_or(url).get("columns").map(Self::parse).transpose()
    }

    fn parse(words: &str) -> Result<Self, UnknownColumn> {
        let words = words.split(',').map(str::trim).filter(|word| !word.is_empty() && *word != JOB_ONLY);
        words.map(JobColumn::from_str).collect()
    }

    /// Columns that this version does not know are left out.
    pub fn from_cookie(value: &str) -> Self {
        value.split('.').filter_map(|word| word.parse().ok()).collect()
    }

    /// Cookie values must not contain commas, so columns are separated by dots.
    pub fn to_cookie(&self) -> String {
        self.to_string().replace(',', ".")
    }

    pub fn iter(&self) -> impl Iterator<Item = JobColumn> {
        self.0.iter().copied()
    }

    pub fn has(&self, column: JobColumn) -> bool {
        self.0.contains(&column)
    }
}

impl fmt::Display for JobColumns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(JOB_ONLY);
        }
        let words: Vec<_> = self.0.iter().map(|column| column.words().0).collect();
        f.write_str(&words.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> Result<Option<JobColumns>, UnknownColumn> {
        JobColumns::of(&PageUrl::parse(url))
    }

    #[test]
    fn an_address_names_columns_in_any_order_and_the_table_keeps_its_own() {
        let columns = of("/jobs?columns=error,app,status,app").expect("known").expect("chosen");
        assert_eq!(columns.to_string(), "status,app,error");
        assert_eq!(of("/jobs?status=failed"), Ok(None));
        assert_eq!(
            of("/jobs?back=%2Fjobs%3Fcolumns%3Dapp&ids%5B%5D=x").map(|c| c.map(|c| c.to_string())),
            Ok(Some("app".to_owned()))
        );
    }

    #[test]
    fn the_job_alone_is_a_choice_too() {
        let columns = of("/jobs?columns=job").expect("known").expect("chosen");
        assert_eq!((columns.iter().count(), columns.to_string().as_str()), (0, "job"));
        assert_eq!(JobColumns::from_cookie(&columns.to_cookie()), columns);
    }

    #[test]
    fn an_unknown_column_is_reported_with_the_known_ones() {
        let says = of("/jobs?columns=status,colour").expect_err("unknown").to_string();
        assert!(
            says.starts_with("columns: there is no column “colour”. Known are job, status, integration, "),
            "{says}"
        );
        assert!(says.ends_with("error_kind, error."), "{says}");
    }

    #[test]
    fn unknown_columns_in_the_cookie_of_another_version_are_dropped() {
        let columns = JobColumns::from_cookie("status.colour.error");
        assert_eq!(columns.to_cookie(), "status.error");
        assert_eq!(JobColumns::from_cookie(&JobColumns::default().to_cookie()), JobColumns::default());
    }
}
