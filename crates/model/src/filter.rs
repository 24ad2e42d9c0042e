//! What a list of jobs or dead letters is narrowed to. One type serves query strings, bulk actions and the console's URLs.

use crate::{
    id::{AppId, BatchId, IntegrationId},
    job::JobStatus,
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
    /// Part of the error message, upper and lower case alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// A job id, a record id, a correlation id or a deduplication id, exactly. It looks through all jobs that the other conditions leave (a
    /// million in about 0.4 s); after 5 s it ends with 503 `took-too-long`, which names the filters that make it cheap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// Accepted at or after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_after: Option<DateTime<Utc>>,
    /// Accepted before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_before: Option<DateTime<Utc>>,
    /// Dead letters of one cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

impl JobFilter {
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
            ..self.clone()
        };
        filled == Self::default()
    }
}
