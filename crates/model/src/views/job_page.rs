//! The page of a job.

use crate::attributes::Attributes;
use crate::failure::SameCause;
use crate::job::{Job, JobDetail, KeyNeighbour};
use crate::record::RecordWithSync;
use crate::request::RequestPreview;
use crate::rules::explain::Explanation;
use crate::stats::IntegrationGauge;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// How a reader asks for the secrets of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrets {
    /// Masked.
    Masked,
    /// Unmasked, as long as the reader's reveal is valid.
    Revealed,
}

/// One job with everything its page shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobPage {
    /// The job with its attempts.
    pub detail: JobDetail,
    /// Why it is not running, or when it will run.
    pub explanation: Explanation,
    /// Its record. None: it has none, or the record no longer exists.
    pub record: Option<JobRecord>,
    /// Its integration; none when that was deleted.
    pub gauge: Option<IntegrationGauge>,
    /// What belongs to it.
    pub related: JobContext,
    /// How many values are masked.
    pub masked: u32,
    /// Until when the values are shown unmasked to this reader.
    pub revealed_until: Option<DateTime<Utc>>,
    /// When reading began.
    pub as_of: DateTime<Utc>,
}

/// The record of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobRecord {
    /// The record with its state at every integration.
    pub record: RecordWithSync,
    /// What this integration last accepted: version, time and attributes.
    pub sent: Option<(i64, DateTime<Utc>, Attributes)>,
    /// All attributes are sent, whatever was accepted before.
    pub is_full: bool,
}

/// What belongs to a job besides itself and its record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobContext {
    /// The jobs of its serialize key in order; empty without a key.
    pub line: Vec<KeyNeighbour>,
    /// The newest other jobs with its correlation id, without payloads.
    pub correlated: Vec<Job>,
    /// Whether `correlated` has more.
    pub has_more: bool,
    /// What its next attempt would send, if anything.
    pub request: Option<RequestPreview>,
    /// The failure group of a job that is to be retried or has failed.
    pub same_cause: Option<SameCause>,
}
