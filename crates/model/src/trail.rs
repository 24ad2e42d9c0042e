//! The trail of a thing: what somebody types, as everything it may mean, and every job about it on one time line.

use crate::{
    app::App,
    dead_letter::DeadLetter,
    id::{AppId, IntegrationId},
    job::Job,
    record::RecordWithSync,
    stats::{IntegrationGauge, Snapshot},
};
use serde::{Deserialize, Serialize};

/// What a text can mean. It is found where it is exactly that; a name also by its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum TrailReading {
    /// A record's id, of any app and type; with its type before it (`product 4711`, `product/4711`) of that type.
    Record,
    /// A job's id, or that of its dead letter.
    Job,
    /// What ties jobs together.
    Correlation,
    /// A deduplication id.
    Deduplication,
    /// An app's id or slug, or the beginning of its name.
    App,
}

impl TrailReading {
    /// All, in the order they are told.
    pub const ALL: [Self; 5] = [Self::Record, Self::Job, Self::Correlation, Self::Deduplication, Self::App];

    /// As it is written on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::Job => "job",
            Self::Correlation => "correlation",
            Self::Deduplication => "deduplication",
            Self::App => "app",
        }
    }
}

impl std::str::FromStr for TrailReading {
    type Err = UnknownReading;
    fn from_str(text: &str) -> Result<Self, UnknownReading> {
        Self::ALL.into_iter().find(|reading| reading.as_str() == text).ok_or(UnknownReading)
    }
}

/// A reading that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be record, job, correlation, deduplication or app")]
pub struct UnknownReading;

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct TrailQuery {
    /// A record id, with or without its type before it (`product 4711`), a job id, a correlation id, a deduplication id, or an app's id, slug
    /// or name. 1 to 255 characters, upper and lower case alike in names alone.
    #[cfg_attr(feature = "openapi", param(required = true, min_length = 1, max_length = 255))]
    pub q: String,
    /// Only this reading of it: `record`, `job`, `correlation`, `deduplication`, `app`. Default: all.
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(inline))]
    pub reading: Option<TrailReading>,
    /// Of one app.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_id: Option<AppId>,
    /// Records of one type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_type: Option<String>,
}

/// Everything that was found under a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Trail {
    /// What it means here; empty: nothing is called that.
    pub readings: Vec<TrailReading>,
    /// The records of that id (the first 10 by app and type), deleted ones too, with what each integration has of them.
    pub records: Vec<TrailRecord>,
    /// There are more records of that id: name the type or the app.
    pub more_records: bool,
    /// The apps of that name, at most 5.
    pub apps: Vec<TrailApp>,
    /// Every job about these records, of that correlation or deduplication id, and the job of that id with those of its record: wherever
    /// they lie, newest first. Finished ones as long as retention keeps them.
    pub items: Vec<TrailJob>,
    /// Where the next page of jobs begins; null on the last. A page may end after 8 MB of payloads.
    pub next_cursor: Option<String>,
}

/// A record of that id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TrailRecord {
    /// What its app is called.
    pub app_name: String,
    /// The record.
    #[serde(flatten)]
    pub record: RecordWithSync,
}

/// A job on the time line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TrailJob {
    /// The job.
    #[serde(flatten)]
    pub job: Job,
    /// Failed attempts in all, over every requeue.
    pub failed_attempts: i64,
    /// How often its attempts began anew: it was requeued after it had failed.
    pub requeues: i64,
    /// The last failure, as its attempts remember it; a job that succeeded afterwards has forgotten it elsewhere.
    pub last_error: Option<String>,
}

/// An app with the verdict on each of its integrations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TrailApp {
    /// The app.
    #[serde(flatten)]
    pub app: App,
    /// Its integrations as the sampler saw them, a second ago at most.
    pub integrations: Vec<IntegrationGauge>,
    /// Its newest dead letters, at most 5.
    pub failures: Vec<DeadLetter>,
}

impl TrailApp {
    /// An app, its integrations not looked up yet.
    #[must_use]
    pub const fn new(app: App, failures: Vec<DeadLetter>) -> Self {
        Self { app, integrations: Vec::new(), failures }
    }
}

impl Trail {
    /// The integrations that it speaks of, some twice.
    pub fn integration_ids(&self) -> impl Iterator<Item = IntegrationId> {
        let jobs = self.items.iter().map(|item| item.job.integration_id);
        let records = self.records.iter().flat_map(|record| &record.record.integrations);
        let failures = self.apps.iter().flat_map(|app| &app.failures);
        jobs.chain(records.map(|sync| sync.integration_id))
            .chain(failures.map(|letter| letter.integration_id))
    }

    /// Adds what the sampler knows of the apps.
    #[must_use]
    pub fn with_gauges(mut self, snapshot: &Snapshot) -> Self {
        for app in &mut self.apps {
            app.integrations =
                snapshot.integrations.iter().filter(|gauge| gauge.app_id == app.app.id).cloned().collect();
        }
        self
    }
}
