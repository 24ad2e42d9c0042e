//! Which filters have an index of their own, and what must stand beside those that have none: a list is a page, not a search through ten
//! million rows that ends in a time-out.

use crate::{
    filter::{Age, JobFilter},
    job::JobStatus,
    problem::Faults,
};
use chrono::{DateTime, TimeDelta, Utc};

/// What makes any other filter cheap, for the sentence that asks for it.
const CHEAP: &str = "integration_id, correlation_id, batch_id, record_type with record_id, fingerprint, status=processing, \
     status=to_be_retried, status=retrying, or max_age of up to 1h";
/// The same of dead letters, which are indexed by app as well and have no other status.
const CHEAP_OF_DEAD: &str = "integration_id, app_id, correlation_id, batch_id, record_type with record_id, fingerprint, or max_age of \
     up to 1h";

/// Those that have none.
const COSTLY: [&str; 5] = ["attempt_min", "attempt_max", "response_status", "worker_id", "payload"];

/// What a filter of this name needs beside it, in words: nothing, if an index serves it.
#[must_use]
pub fn companions(name: &str, is_dead: bool) -> Option<String> {
    // Those of dead letters are indexed.
    if !COSTLY.contains(&name) || (is_dead && name == "response_status") {
        return None;
    }
    let cheap = if is_dead { CHEAP_OF_DEAD } else { CHEAP };
    let beside = if name == "response_status" { ", or status=failed" } else { "" };
    Some(format!("has no index of its own and needs another filter beside it: {cheap}{beside}"))
}

/// Which filters stand without what would make them cheap.
///
/// # Errors
/// Each of them, with what may stand beside it.
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

/// Whether a list of these can begin with the oldest. What is finished is kept by the day of its end, so that the oldest of a day stand
/// behind all that came before it, unless something says since when they were accepted.
#[must_use]
pub fn may_begin_with_oldest(filter: &JobFilter) -> bool {
    let ends = matches!(filter.status, None | Some(JobStatus::Completed | JobStatus::Cancelled));
    !ends || filter.created_after.is_some() || filter.max_age.is_some() || filter.fingerprint.is_some()
}

/// Whether an index leads to few rows, or a start in time bounds how far back is read.
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
    fn a_filter_without_an_index_needs_one_beside_it_and_the_refusal_names_some() {
        let faults = check(&costly(), Utc::now()).unwrap_err();
        let names: Vec<&str> = faults.0.iter().map(|fault| fault.pointer.as_str()).collect();
        assert_eq!(names, ["attempt_min", "response_status", "worker_id"]);
        for beside in ["integration_id", "status=processing", "status=to_be_retried", "status=retrying"] {
            assert!(faults.0.iter().all(|fault| fault.detail.contains(beside)), "{beside}");
        }
        assert!(faults.0[1].detail.contains("status=failed"));
    }

    #[test]
    fn a_refusal_among_dead_letters_names_what_helps_there() {
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
        for beside in [
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
            assert_eq!(check(&beside, now), Ok(()), "{beside:?}");
        }
        for beside in [
            JobFilter { status: Some(JobStatus::Completed), ..costly() },
            JobFilter { status: Some(JobStatus::Pending), ..costly() },
            JobFilter { max_age: "2h".parse().ok(), ..costly() },
            JobFilter { min_age: "1h".parse().ok(), ..costly() },
            JobFilter { record_id: text("1"), ..costly() },
            JobFilter { app_id: Some(AppId::generate()), ..costly() },
        ] {
            assert!(check(&beside, now).is_err(), "{beside:?}");
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
    fn answers_of_dead_letters_have_an_index_and_filters_of_old_stay_as_they_are() {
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
