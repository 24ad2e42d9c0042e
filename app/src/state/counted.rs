//! The lists behind the numbers of gauges: each has exactly the jobs that its number counts.

use super::page_url::PageUrl;
use crate::format;
use chrono::{DateTime, TimeDelta, Utc};
use model::id::IntegrationId;
use model::job::JobStatus;

/// What a gauge counts, of all integrations or of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Claimable, scheduled and parked ones, and successors.
    Backlog,
    Processing,
    /// Completed in the minute before this time, at which the gauge was read.
    Delivered(DateTime<Utc>),
    /// Due or not.
    ToBeRetried,
    DeadLetters,
}

impl Counted {
    /// The address of their list.
    pub fn list(self, integration: Option<IntegrationId>) -> String {
        let jobs = |status: JobStatus| PageUrl::parse("/jobs").with("status", status.as_str());
        let list = match self {
            Self::Backlog => jobs(JobStatus::Pending),
            Self::Processing => jobs(JobStatus::Processing),
            Self::Delivered(at) => jobs(JobStatus::Completed)
                .with("finished_after", format::rfc3339(at - TimeDelta::minutes(1)))
                .with("finished_before", format::rfc3339(at)),
            Self::ToBeRetried => jobs(JobStatus::ToBeRetried),
            Self::DeadLetters => PageUrl::parse("/dead-letters"),
        };
        let list = match integration {
            Some(id) => list.with("integration_id", id),
            None => list,
        };
        list.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::url_filters::ListQuery;
    use model::filter::JobFilter;

    #[test]
    fn a_number_leads_to_the_list_of_just_that() {
        let id: IntegrationId = "0193f2c1-7b1e-7d04-9a55-2f0c8a9d41b7".parse().expect("an id");
        let at: DateTime<Utc> = "2026-11-20T12:00:30.250Z".parse().expect("a time");
        let counted = [
            (Counted::Backlog, "/jobs", Some(JobStatus::Pending)),
            (Counted::Processing, "/jobs", Some(JobStatus::Processing)),
            (Counted::Delivered(at), "/jobs", Some(JobStatus::Completed)),
            (Counted::ToBeRetried, "/jobs", Some(JobStatus::ToBeRetried)),
            (Counted::DeadLetters, "/dead-letters", None),
        ];
        for (counted, path, status) in counted {
            for integration_id in [None, Some(id)] {
                let is_delivered = counted == Counted::Delivered(at);
                let expected = JobFilter {
                    status,
                    integration_id,
                    finished_after: is_delivered.then(|| at - TimeDelta::minutes(1)),
                    finished_before: is_delivered.then_some(at),
                    ..JobFilter::default()
                };
                let list = PageUrl::parse(&counted.list(integration_id));
                assert_eq!(list.path(), path);
                let filter = ListQuery::parse(&list.query()).expect("a filter").filter;
                assert_eq!(filter, expected, "{counted:?}");
            }
        }
    }
}
