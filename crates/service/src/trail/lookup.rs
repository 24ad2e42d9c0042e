//! Looks up what a text may name (record, job, correlation id, deduplication id, app), and the jobs about it.

use crate::{Headgate, ServiceError};
use insight::store::dead_letters;
use insight::store::trail::{self, TrailKeys};
use model::actor::Scope;
use model::dead_letter::DeadLetter;
use model::filter::JobFilter;
use model::id::{AppId, JobId};
use model::job::Job;
use model::page::PageRequest;
use model::problem::Faults;
use model::record::RecordKey;
use model::trail::{Trail, TrailApp, TrailQuery, TrailReading, TrailRecord};
use queue::store::jobs;

const MAX_RECORDS: usize = 10;
const MAX_APPS: i64 = 5;
/// The newest failures of each app.
const MAX_FAILURES: i64 = 5;

impl Headgate {
    /// Everything a text may name in the scope, and a page of the jobs about it; unmasked, and apps without their gauges.
    pub(super) async fn look_up(
        &self,
        scope: Scope,
        query: &TrailQuery,
        page: PageRequest,
    ) -> Result<Trail, ServiceError> {
        let text = query.q.trim();
        check(text)?;
        if query.app_id.is_some_and(|app_id| !scope.contains(app_id)) {
            return Ok(Trail::default());
        }
        let wants = |reading| query.reading.is_none_or(|only| only == reading);
        let mut keys = TrailKeys { app_id: query.app_id, ..TrailKeys::default() };
        if wants(TrailReading::Record) {
            let app_id = scope.app_id().or(query.app_id);
            // One more than are shown.
            keys.records = self.delivery_lists().records_named(app_id, query, MAX_RECORDS as i64 + 1).await?;
        }
        let names_records = !keys.records.is_empty();
        let job = if wants(TrailReading::Job) { self.job_named(scope, query).await? } else { None };
        if let Some(job) = &job {
            keys.job_id = Some(job.id);
            // All jobs of its record, before and after this one.
            if let Some(key) = record_of(job).filter(|key| !keys.records.contains(key)) {
                keys.records.push(key);
            }
        }
        let more_records = keys.records.len() > MAX_RECORDS;
        keys.records.truncate(MAX_RECORDS);
        keys.correlation_id = wants(TrailReading::Correlation).then(|| text.to_owned());
        // The deduplication id of a record's job names the record.
        let is_of_plain_jobs = jobs::record_of(text).is_none();
        keys.deduplication_id =
            (is_of_plain_jobs && wants(TrailReading::Deduplication)).then(|| text.to_owned());
        let jobs = trail::trail(&self.lists, scope, &keys, page).await?;
        let apps = if wants(TrailReading::App) && page.after.is_none() {
            self.apps_named(scope, text).await?
        } else {
            Vec::new()
        };
        let is_of = |read: &dyn Fn(&Job) -> bool| jobs.items.iter().any(|item| read(&item.job));
        let found = [
            (TrailReading::Record, names_records),
            (TrailReading::Job, job.is_some()),
            (
                TrailReading::Correlation,
                keys.correlation_id.is_some()
                    && is_of(&|job| job.correlation_ids.iter().any(|id| id == text)),
            ),
            (
                TrailReading::Deduplication,
                keys.deduplication_id.is_some()
                    && is_of(&|job| job.deduplication_id.as_deref() == Some(text)),
            ),
            (TrailReading::App, !apps.is_empty()),
        ];
        Ok(Trail {
            readings: found
                .into_iter()
                .filter_map(|(reading, is_found)| is_found.then_some(reading))
                .collect(),
            records: self.trail_records(scope, &keys.records).await?,
            more_records,
            apps,
            items: jobs.items,
            next_cursor: jobs.next_cursor,
        })
    }

    async fn job_named(&self, scope: Scope, query: &TrailQuery) -> Result<Option<Job>, ServiceError> {
        let Ok(id) = query.q.trim().parse::<JobId>() else { return Ok(None) };
        let job = jobs::find_by_any_id(&self.lists, scope, id).await?;
        Ok(job.filter(|job| query.app_id.is_none_or(|app_id| app_id == job.app_id)))
    }

    async fn apps_named(&self, scope: Scope, text: &str) -> Result<Vec<TrailApp>, ServiceError> {
        let mut apps = Vec::new();
        for app in self.delivery_lists().apps_named(scope, text, MAX_APPS).await? {
            let failures = self.newest_failures(scope, app.id).await?;
            apps.push(TrailApp::new(app, failures));
        }
        Ok(apps)
    }

    async fn newest_failures(&self, scope: Scope, app_id: AppId) -> Result<Vec<DeadLetter>, ServiceError> {
        let filter = JobFilter { app_id: Some(app_id), ..JobFilter::default() };
        let page = PageRequest { limit: MAX_FAILURES, after: None };
        Ok(dead_letters::list(&self.lists, scope, &filter, page).await?.items)
    }

    /// The records with what each integration has of them.
    async fn trail_records(
        &self,
        scope: Scope,
        keys: &[RecordKey],
    ) -> Result<Vec<TrailRecord>, ServiceError> {
        let delivery = self.delivery_lists();
        let mut records = Vec::with_capacity(keys.len());
        for RecordKey { app_id, record_type, record_id } in keys {
            let found = async {
                let app_name = delivery.app(scope, *app_id).await?.name;
                let record = delivery.record(scope, *app_id, record_type, record_id).await?;
                Ok::<_, ServiceError>(TrailRecord { app_name, record })
            };
            match found.await {
                Ok(record) => records.push(record),
                // Jobs may outlive their record and their app.
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(records)
    }
}

fn check(text: &str) -> Result<(), Faults> {
    let mut faults = Faults::default();
    faults.require(
        (1..=255).contains(&text.chars().count()) && !text.contains('\0'),
        "q",
        "must be 1 to 255 characters",
    );
    faults.into_result()
}

fn record_of(job: &Job) -> Option<RecordKey> {
    let (record_type, record_id) = job.record_type.clone().zip(job.record_id.clone())?;
    Some(RecordKey { app_id: job.app_id, record_type, record_id })
}
