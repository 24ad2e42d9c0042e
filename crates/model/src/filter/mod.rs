//! What a list of jobs or dead letters is narrowed to. One type serves query strings, bulk actions and the console's URLs.

mod age;
mod answer;
mod payload;

pub use age::{Age, BadAge};
pub use answer::{AnswerStatus, BadAnswerStatus};
pub use payload::{PayloadMatch, gather};

use crate::{
    id::{AppId, BatchId, IntegrationId, WorkerId},
    job::JobStatus,
    moment,
    problem::Faults,
};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// Every condition given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema, utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct JobFilter {
    /// `retrying` finds jobs whose retry is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<JobStatus>,
    /// Exactly so many attempts made: `0` finds what was never tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<i16>,
    /// So many attempts made, or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt_min: Option<i16>,
    /// So many attempts made, or fewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt_max: Option<i16>,
    /// Of one app.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_id: Option<AppId>,
    /// Of one integration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub integration_id: Option<IntegrationId>,
    /// Exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_type: Option<String>,
    /// Exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// Items of one batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_id: Option<BatchId>,
    /// Changes of records of one type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_type: Option<String>,
    /// Changes of one record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_id: Option<String>,
    /// Part of the error message, upper and lower case alike. For who reads secrets in it `[masked]`, part of what stands before the first value
    /// that may be one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// A job id, a record id, a correlation id or a deduplication id, exactly: each is found by an index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// Accepted at or after.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "moment::optional")]
    pub created_after: Option<DateTime<Utc>>,
    /// Accepted before.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "moment::optional")]
    pub created_before: Option<DateTime<Utc>>,
    /// Accepted so long ago, or longer: `15m`, `2h`, `7d`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_age: Option<Age>,
    /// Accepted so long ago, or later: `15m`, `2h`, `7d`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_age: Option<Age>,
    /// Completed, cancelled or given up at or after.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "moment::optional")]
    pub finished_after: Option<DateTime<Utc>>,
    /// Completed, cancelled or given up before; within the 24 hours before that unless something says since when.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "moment::optional")]
    pub finished_before: Option<DateTime<Utc>>,
    /// What the last attempt that ended was answered: an HTTP status such as `503`, or `1xx` to `5xx`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_status: Option<AnswerStatus>,
    /// Run by this worker: now, or at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_id: Option<WorkerId>,
    /// What the payload contains, by path: `payload.order.id=17` or `payload=order.id=17` in a query, `{"order.id": "17"}` in a body; up to 8. Jobs of records have
    /// no payload until it is computed: a dead letter is found by what it sent as well. A path whose value the asker reads `[masked]` is refused
    /// (422).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<String>, example = "order.id=17"))]
    pub payload: Option<PayloadMatch>,
    /// Failed by one cause: dead letters, and jobs to be tried again. The first 16 characters alone: at any integration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The asker reads errors masked, these names besides those that are secret by their nature: `error` is looked for in what stands before
    /// such values. Not the asker's to say: Headgate sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(ignore), param(ignore))]
    pub masked_names: Option<Vec<String>>,
}

impl JobFilter {
    /// What no list can be asked for.
    ///
    /// # Errors
    /// Every fault, by field.
    pub fn check(&self) -> Result<(), Faults> {
        let mut faults = Faults::default();
        for (name, attempts) in
            [("attempt", self.attempt), ("attempt_min", self.attempt_min), ("attempt_max", self.attempt_max)]
        {
            faults.require(attempts.is_none_or(|n| n >= 0), name, "must be 0 to 32,767");
        }
        faults.into_result()
    }

    /// The same of dead letters: all of them have failed.
    ///
    /// # Errors
    /// Every fault, by field.
    pub fn check_of_dead_letters(&self) -> Result<(), Faults> {
        let mut faults = self.check().err().unwrap_or_default();
        let is_failed = self.status.is_none_or(|status| status == JobStatus::Failed);
        faults.require(is_failed, "status", "must be failed, or left out: every dead letter is");
        faults.into_result()
    }

    /// Whether it narrows nothing: bulk actions refuse that. An empty text is no condition: it is what a form sends that was not filled in.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let filled = Self {
            job_type: given(&self.job_type),
            correlation_id: given(&self.correlation_id),
            record_type: given(&self.record_type),
            record_id: given(&self.record_id),
            error: given(&self.error),
            q: given(&self.q),
            fingerprint: given(&self.fingerprint),
            masked_names: None,
            ..self.clone()
        };
        filled == Self::default()
    }

    /// The same with ages as moments, so that what is asked for stays what it is while a bulk action runs.
    #[must_use]
    pub fn at(&self, now: DateTime<Utc>) -> Self {
        let (oldest, newest) =
            (self.max_age.map(|age| now - age.delta()), self.min_age.map(|age| now - age.delta()));
        Self {
            created_after: self.created_after.max(oldest),
            created_before: match (self.created_before, newest) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            },
            min_age: None,
            max_age: None,
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_list_is_asked_for_fewer_attempts_than_none_and_dead_letters_for_nothing_alive() {
        let places = |faults: Result<(), Faults>| -> Vec<String> {
            faults.err().unwrap_or_default().0.into_iter().map(|fault| fault.pointer).collect()
        };
        let filter = JobFilter {
            attempt: Some(-1),
            attempt_min: Some(0),
            status: Some(JobStatus::Retrying),
            ..JobFilter::default()
        };
        assert_eq!(places(filter.check()), ["attempt"]);
        assert_eq!(places(filter.check_of_dead_letters()), ["attempt", "status"]);
        let failed = JobFilter { status: Some(JobStatus::Failed), ..JobFilter::default() };
        assert_eq!(failed.check_of_dead_letters(), Ok(()));
        assert_eq!(JobFilter::default().check_of_dead_letters(), Ok(()));
    }

    #[test]
    fn ages_become_moments_and_the_narrower_one_holds() {
        let now = DateTime::UNIX_EPOCH + chrono::TimeDelta::days(10);
        let ago = |hours| now - chrono::TimeDelta::hours(hours);
        let age = |text: &str| text.parse().ok();
        let filter = JobFilter { min_age: age("1h"), max_age: age("2h"), ..JobFilter::default() };
        let fixed = filter.at(now);
        assert_eq!((fixed.created_after, fixed.created_before), (Some(ago(2)), Some(ago(1))));
        assert_eq!((fixed.min_age, fixed.max_age), (None, None));
        let narrower = JobFilter { created_after: Some(ago(1)), created_before: Some(ago(3)), ..filter };
        let fixed = narrower.at(now);
        assert_eq!((fixed.created_after, fixed.created_before), (Some(ago(1)), Some(ago(3))));
    }
}
