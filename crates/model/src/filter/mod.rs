//! The filter of jobs and dead letters, used in query strings, bulk actions and the console's URLs.

mod age;
mod answer;
mod payload;

pub use age::{Age, BadAge};
pub use answer::{AnswerStatus, BadAnswerStatus};
pub(crate) use payload::PAYLOAD_PREFIX;
pub use payload::{PayloadMatch, gather};

use crate::id::{AppId, BatchId, IntegrationId, WorkerId};
use crate::job::JobStatus;
use crate::moment;
use crate::problem::Faults;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// All given conditions must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema, utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct JobFilter {
    /// `to_be_retried` finds all jobs that wait for another attempt, due or not, as they are counted; `retrying` only those that are due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<JobStatus>,
    /// Exact number of attempts made: `0` finds jobs that were never tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<i16>,
    /// At least so many attempts made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt_min: Option<i16>,
    /// At most so many attempts made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt_max: Option<i16>,
    /// Jobs of one app.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_id: Option<AppId>,
    /// Jobs of one integration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub integration_id: Option<IntegrationId>,
    /// Exact match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_type: Option<String>,
    /// Exact match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// Jobs of one batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_id: Option<BatchId>,
    /// Changes of records of one type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_type: Option<String>,
    /// Changes of one record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_id: Option<String>,
    /// Part of the error message, case-insensitive. For callers who see secrets as `[masked]`, only the text before the first masked value is
    /// searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// An exact job id, record id, correlation id or deduplication id; each has an index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// Accepted at or after.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "moment::optional")]
    pub created_after: Option<DateTime<Utc>>,
    /// Accepted before.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "moment::optional")]
    pub created_before: Option<DateTime<Utc>>,
    /// Accepted at least so long ago: `15m`, `2h`, `7d`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_age: Option<Age>,
    /// Accepted at most so long ago: `15m`, `2h`, `7d`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_age: Option<Age>,
    /// Completed, cancelled or dead-lettered at or after.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "moment::optional")]
    pub finished_after: Option<DateTime<Utc>>,
    /// Completed, cancelled or dead-lettered before; without another lower bound, within the 24 hours before that.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "moment::optional")]
    pub finished_before: Option<DateTime<Utc>>,
    /// Answer to the last finished attempt: an HTTP status such as `503`, or `1xx` to `5xx`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_status: Option<AnswerStatus>,
    /// Running on this worker, or last run by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_id: Option<WorkerId>,
    /// What the payload contains, by path: `payload.order.id=17` or `payload=order.id=17` in a query, `{"order.id": "17"}` in a body; up to 8. Jobs of
    /// records have no payload until it is computed; dead letters are also found by what they sent. A path whose value the caller sees as
    /// `[masked]` is refused (422), and so is `[masked]` as a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<String>, example = "order.id=17"))]
    pub payload: Option<PayloadMatch>,
    /// Dead letters, and jobs to be retried, of one cause. Only the first 16 characters: of all integrations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Set by Headgate for callers who see errors masked: the names that are secret in addition to the usual ones. `error` is then searched only
    /// before such values.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(ignore), param(ignore))]
    pub masked_names: Option<Vec<String>>,
}

impl JobFilter {
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

    /// [`Self::check`] for dead letters, which have all failed.
    ///
    /// # Errors
    /// Every fault, by field.
    pub fn check_of_dead_letters(&self) -> Result<(), Faults> {
        let mut faults = self.check().err().unwrap_or_default();
        let is_failed = self.status.is_none_or(|status| status == JobStatus::Failed);
        faults.require(is_failed, "status", "must be failed or absent: every dead letter has failed");
        faults.into_result()
    }

    /// Whether it has no condition: bulk actions refuse that. An empty text is not a condition; forms send it for fields that were not filled in.
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

    /// Replaces ages by times, so that the filter does not move while a bulk action runs.
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
    fn negative_attempts_are_refused_and_for_dead_letters_any_status_but_failed() {
        let pointers = |faults: Result<(), Faults>| -> Vec<String> {
            faults.err().unwrap_or_default().0.into_iter().map(|fault| fault.pointer).collect()
        };
        let filter = JobFilter {
            attempt: Some(-1),
            attempt_min: Some(0),
            status: Some(JobStatus::Retrying),
            ..JobFilter::default()
        };
        assert_eq!(pointers(filter.check()), ["attempt"]);
        assert_eq!(pointers(filter.check_of_dead_letters()), ["attempt", "status"]);
        let failed = JobFilter { status: Some(JobStatus::Failed), ..JobFilter::default() };
        assert_eq!(failed.check_of_dead_letters(), Ok(()));
        assert_eq!(JobFilter::default().check_of_dead_letters(), Ok(()));
    }

    #[test]
    fn ages_become_times_and_the_narrower_one_holds() {
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
