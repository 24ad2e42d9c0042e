//! The columns of the list of jobs in the address and in a cookie, and as the table writes them.

use super::page_url::PageUrl;
use model::job_columns::{JobColumn, JobColumns, UnknownColumn};

/// Name of the cookie. It holds words of [`JobColumn::ALL`] and nothing about the reader.
pub const COOKIE: &str = "headgate_job_columns";

/// The columns in an address, if any. The dialog about selected rows carries the list's address in `back`.
///
/// # Errors
/// The first unknown column.
pub fn of(url: &PageUrl) -> Result<Option<JobColumns>, UnknownColumn> {
    let list = url.get("back").map(PageUrl::parse_back);
    list.as_ref().unwrap_or(url).get("columns").map(str::parse).transpose()
}

/// Columns that this version does not know are left out.
pub fn from_cookie(value: &str) -> JobColumns {
    value.split('.').filter_map(|word| word.parse().ok()).collect()
}

/// Cookie values must not contain commas, so columns are separated by dots.
pub fn to_cookie(columns: &JobColumns) -> String {
    columns.to_string().replace(',', ".")
}

/// The heading of a column.
pub const fn heading(column: JobColumn) -> &'static str {
    match column {
        JobColumn::Status => "State",
        JobColumn::Integration => "Integration",
        JobColumn::App => "App",
        JobColumn::IntegrationType => "Type",
        JobColumn::JobType => "Kind",
        JobColumn::Attempt => "Attempts",
        JobColumn::Priority => "Priority",
        JobColumn::JobId => "Job id",
        JobColumn::CorrelationId => "Correlation",
        JobColumn::BatchId => "Batch",
        JobColumn::DeduplicationId => "Deduplication",
        JobColumn::SerializeKey => "Serialize key",
        JobColumn::CreatedAt => "Accepted",
        JobColumn::RunAt => "Not before",
        JobColumn::StartedAt => "Last attempt",
        JobColumn::RetryAt => "Next attempt",
        JobColumn::EndedAt => "Ended",
        JobColumn::ExpiresAt => "Expires",
        JobColumn::Folded => "Folded in",
        JobColumn::Outcome => "Outcome",
        JobColumn::ErrorKind => "Error kind",
        JobColumn::Error => "Last error",
    }
}

/// Numbers are aligned to the right.
pub const fn is_number(column: JobColumn) -> bool {
    matches!(column, JobColumn::Attempt | JobColumn::Priority | JobColumn::Folded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> Option<String> {
        super::of(&PageUrl::parse(url)).expect("known").map(|columns| columns.to_string())
    }

    #[test]
    fn an_address_or_the_one_it_leads_back_to_names_the_columns() {
        assert_eq!(of("/jobs?columns=error,app").as_deref(), Some("app,error"));
        assert_eq!(of("/jobs?status=failed"), None);
        assert_eq!(of("/jobs?back=%2Fjobs%3Fcolumns%3Dapp&ids%5B%5D=x").as_deref(), Some("app"));
    }

    #[test]
    fn unknown_columns_in_the_cookie_of_another_version_are_dropped() {
        assert_eq!(to_cookie(&from_cookie("status.colour.error")), "status.error");
        for columns in [JobColumns::default(), JobColumns::from_iter([])] {
            assert_eq!(from_cookie(&to_cookie(&columns)), columns);
        }
    }
}
