//! Which filters have an index, and which need another filter with them: a list reads one page, and must not search through ten million rows until
//! it times out.

use crate::filter::{Age, JobFilter};
use crate::job::JobStatus;
use crate::problem::Faults;
use chrono::{DateTime, TimeDelta, Utc};

/// Filters that make any other cheap, for error messages.
const CHEAP: &str = "integration_id, correlation_id, batch_id, record_type with record_id, fingerprint, status=processing, \
     status=to_be_retried, status=retrying, or max_age of up to 1h";
/// The same for dead letters, which are also indexed by app and have no other status.
const CHEAP_OF_DEAD: &str = "integration_id, app_id, correlation_id, batch_id, record_type with record_id, fingerprint, or max_age of \
     up to 1h";

/// Filters without an index.
const COSTLY: [&str; 5] = ["attempt_min", "attempt_max", "response_status", "worker_id", "payload"];

/// Which other filters this one needs, as a sentence. `None`: it has an index.
#[must_use]
pub fn companions(name: &str, is_dead: bool) -> Option<String> {
    // The response status of dead letters is indexed.
    if !COSTLY.contains(&name) || (is_dead && name == "response_status") {
        return None;
    }
    let cheap = if is_dead { CHEAP_OF_DEAD } else { CHEAP };
    let also = if name == "response_status" { ", or status=failed" } else { "" };
    Some(format!("has no index of its own and needs another filter with it: {cheap}{also}"))
}

/// Refuses filters without an index, unless another one makes them cheap.
///
/// # Errors
/// Each of them, with the filters that may accompany it.
pub fn check(filter: &JobFilter, now: DateTime<Utc>) -> Result<(), Faults> {
    let mut faults = Faults::default();
    if is_narrow(filter, now) {
        return Ok(());
    }
    let is_dead = filter.status == Some(JobStatus::Failed) || filter.fingerprint.is_some();
    if is_dead && filter.app_id.is_some() {
        return Ok(());
    }
    let given = [
        filter.attempt_min.is_some(),
        filter.attempt_max.is_some(),
        filter.response_status.is_some(),
        filter.worker_id.is_some(),
        filter.payload.is_some(),
    ];
    for (name, _) in COSTLY.into_iter().zip(given).filter(|(_, is_given)| *is_given) {
        if let Some(companions) = companions(name, is_dead) {
            faults.add(name, companions);
        }
    }
    faults.into_result()
}

/// Whether a list with this filter can be sorted oldest first. Finished jobs are partitioned by the day of their end, so finding the oldest would
/// scan all partitions, unless the filter has a lower bound of the creation time.
#[must_use]
pub fn may_begin_with_oldest(filter: &JobFilter) -> bool {
    let ends = matches!(filter.status, None | Some(JobStatus::Completed | JobStatus::Cancelled));
    !ends || filter.created_after.is_some() || filter.max_age.is_some() || filter.fingerprint.is_some()
}

/// Whether an index leads to few rows, or a recent start bounds the range that is read.
fn is_narrow(filter: &JobFilter, now: DateTime<Utc>) -> bool {
    let an_hour_ago = now - Age::HOUR.delta() - TimeDelta::seconds(5);
    let since = filter.at(now).created_after.max(filter.finished_after);
    filter.integration_id.is_some()
        || filter.correlation_id.is_some()
        || filter.batch_id.is_some()
        || filter.fingerprint.is_some()
        || (filter.record_type.is_some() && filter.record_id.is_some())
        || matches!(filter.status, Some(JobStatus::Processing | JobStatus::ToBeRetried | JobStatus::Retrying))
        || since.is_some_and(|since| since >= an_hour_ago)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{AppId, IntegrationId, WorkerId};

    fn costly() -> JobFilter {
        JobFilter {
            attempt_min: Some(3),
            response_status: "5xx".parse().ok(),
            worker_id: Some(WorkerId::generate()),
            ..JobFilter::default()
        }
    }

    #[test]
    fn a_filter_without_an_index_needs_another_and_the_fault_names_some() {
        let faults = check(&costly(), Utc::now()).unwrap_err();
        let names: Vec<&str> = faults.0.iter().map(|fault| fault.pointer.as_str()).collect();
        assert_eq!(names, ["attempt_min", "response_status", "worker_id"]);
        for other in ["integration_id", "status=processing", "status=to_be_retried", "status=retrying"] {
            assert!(faults.0.iter().all(|fault| fault.detail.contains(other)), "{other}");
        }
        assert!(faults.0[1].detail.contains("status=failed"));
    }

    #[test]
    fn the_fault_for_dead_letters_names_filters_of_dead_letters() {
        let dead = JobFilter { status: Some(JobStatus::Failed), ..costly() };
        let faults = check(&dead, Utc::now()).unwrap_err();
        assert!(!faults.0.is_empty());
        assert!(
            faults.0.iter().all(|fault| fault.detail.contains("app_id") && !fault.detail.contains("status="))
        );
    }

    #[test]
    fn each_of_these_makes_it_cheap() {
        let text = |text: &str| Some(text.to_owned());
        let now = Utc::now();
        for filter in [
            JobFilter { integration_id: Some(IntegrationId::generate()), ..costly() },
            JobFilter { correlation_id: text("c"), ..costly() },
            JobFilter { record_type: text("product"), record_id: text("1"), ..costly() },
            JobFilter { status: Some(JobStatus::Processing), ..costly() },
            JobFilter { status: Some(JobStatus::ToBeRetried), ..costly() },
            JobFilter { status: Some(JobStatus::Retrying), ..costly() },
            JobFilter { max_age: "1h".parse().ok(), ..costly() },
            JobFilter { created_after: Some(now - TimeDelta::minutes(10)), ..costly() },
            JobFilter { status: Some(JobStatus::Failed), app_id: Some(AppId::generate()), ..costly() },
        ] {
            assert_eq!(check(&filter, now), Ok(()), "{filter:?}");
        }
        for filter in [
            JobFilter { status: Some(JobStatus::Completed), ..costly() },
            JobFilter { status: Some(JobStatus::Pending), ..costly() },
            JobFilter { max_age: "2h".parse().ok(), ..costly() },
            JobFilter { min_age: "1h".parse().ok(), ..costly() },
            JobFilter { record_id: text("1"), ..costly() },
            JobFilter { app_id: Some(AppId::generate()), ..costly() },
        ] {
            assert!(check(&filter, now).is_err(), "{filter:?}");
        }
    }

    #[test]
    fn the_oldest_come_first_where_an_index_begins_with_them() {
        let with = |status| JobFilter { status, ..JobFilter::default() };
        assert!(may_begin_with_oldest(&with(Some(JobStatus::Pending))));
        assert!(may_begin_with_oldest(&with(Some(JobStatus::Failed))));
        assert!(
            !may_begin_with_oldest(&with(None)) && !may_begin_with_oldest(&with(Some(JobStatus::Completed)))
        );
        assert!(may_begin_with_oldest(&JobFilter { max_age: "2h".parse().ok(), ..with(None) }));
    }

    #[test]
    fn the_status_of_dead_letters_has_an_index_and_error_and_attempt_need_no_other_filter() {
        let dead = JobFilter {
            status: Some(JobStatus::Failed),
            response_status: "503".parse().ok(),
            ..JobFilter::default()
        };
        assert_eq!(check(&dead, Utc::now()), Ok(()));
        let error = JobFilter { error: Some("timeout".into()), attempt: Some(1), ..JobFilter::default() };
        assert_eq!(check(&error, Utc::now()), Ok(()));
    }
}
