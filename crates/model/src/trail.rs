//! The trail of a search text: everything that it may mean, and all related jobs on one timeline.

use crate::app::App;
use crate::dead_letter::DeadLetter;
use crate::id::{AppId, IntegrationId};
use crate::job::Job;
use crate::record::RecordWithSync;
use crate::stats::{IntegrationGauge, Snapshot};
use crate::unknown_name::UnknownName;
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};

/// What a search text can mean. Matches are exact; names also match by their beginning.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "snake_case", parse_err_ty = UnknownName, parse_err_fn = UnknownName::of)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum TrailReading {
    /// A record's id, of any app and type, or with its type before it (`product 4711`, `product/4711`).
    Record,
    /// The id of a job or of its dead letter.
    Job,
    /// A correlation id.
    Correlation,
    /// A deduplication id.
    Deduplication,
    /// An app's id or slug, or the beginning of its name.
    App,
}

impl TrailReading {
    /// All, in the order in which they are shown.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// As it is written on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A search.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct TrailQuery {
    /// A record id, with or without its type before it (`product 4711`), a job id, a correlation id, a deduplication id, or an app's id, slug
    /// or name. 1 to 255 characters; only names are case-insensitive.
    #[cfg_attr(feature = "openapi", param(required = true, min_length = 1, max_length = 255))]
    pub q: String,
    /// Search only for this: `record`, `job`, `correlation`, `deduplication`, `app`. Default: all.
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(inline))]
    pub reading: Option<TrailReading>,
    /// Only in one app.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_id: Option<AppId>,
    /// Records of one type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_type: Option<String>,
}

/// Everything that was found for a search text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Trail {
    /// The meanings with matches; empty: nothing was found.
    pub readings: Vec<TrailReading>,
    /// Records with that id (the first 10 by app and type), deleted ones too, with their state in each integration.
    pub records: Vec<TrailRecord>,
    /// There are more records with that id: add the type or the app.
    pub more_records: bool,
    /// Apps with that name, at most 5.
    pub apps: Vec<TrailApp>,
    /// All jobs of these records, with that correlation or deduplication id, and the job with that id together with those of its record: in any
    /// state, newest first. Finished jobs as long as retention keeps them.
    pub items: Vec<TrailJob>,
    /// Cursor of the next page of jobs; null on the last. A page may end after 8 MB of payloads.
    pub next_cursor: Option<String>,
}

/// A record that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TrailRecord {
    /// Its app's name.
    pub app_name: String,
    /// The record.
    #[serde(flatten)]
    pub record: RecordWithSync,
}

/// A job on the timeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TrailJob {
    /// The job.
    #[serde(flatten)]
    pub job: Job,
    /// All failed attempts, over all requeues.
    pub failed_attempts: i64,
    /// How often it was requeued after it had failed.
    pub requeues: i64,
    /// The last error of its attempts, even if the job succeeded afterwards.
    pub last_error: Option<String>,
}

/// An app with the state of its integrations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TrailApp {
    /// The app.
    #[serde(flatten)]
    pub app: App,
    /// Its integrations as last sampled, at most a second ago.
    pub integrations: Vec<IntegrationGauge>,
    /// Its newest dead letters, at most 5.
    pub failures: Vec<DeadLetter>,
}

impl TrailApp {
    /// An app without its integrations, which [`Trail::with_gauges`] adds.
    #[must_use]
    pub const fn new(app: App, failures: Vec<DeadLetter>) -> Self {
        Self { app, integrations: Vec::new(), failures }
    }
}

impl Trail {
    /// The integrations in it, possibly with duplicates.
    pub fn integration_ids(&self) -> impl Iterator<Item = IntegrationId> {
        let jobs = self.items.iter().map(|item| item.job.integration_id);
        let records = self.records.iter().flat_map(|record| &record.record.integrations);
        let failures = self.apps.iter().flat_map(|app| &app.failures);
        jobs.chain(records.map(|sync| sync.integration_id))
            .chain(failures.map(|letter| letter.integration_id))
    }

    /// Adds the apps' integrations from a snapshot.
    #[must_use]
    pub fn with_gauges(mut self, snapshot: &Snapshot) -> Self {
        for app in &mut self.apps {
            app.integrations =
                snapshot.integrations.iter().filter(|gauge| gauge.app_id == app.app.id).cloned().collect();
        }
        self
    }
}
