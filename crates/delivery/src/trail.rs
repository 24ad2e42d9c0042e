//! The trail: finds everything that a text can name, and puts the jobs about it on one time line.

use crate::{DeliveryError, store, store::trail::Named};
use insight::store::trail::{RecordKey, TrailKeys};
use model::{
    actor::Scope,
    dead_letter::DeadLetter,
    filter::JobFilter,
    id::{AppId, JobId},
    page::PageRequest,
    problem::Faults,
    trail::{Trail, TrailApp, TrailQuery, TrailReading, TrailRecord},
};
use sqlx::PgPool;

const MAX_RECORDS: usize = 10;
const MAX_APPS: i64 = 5;
/// The newest failures of each app.
const MAX_FAILURES: i64 = 5;
/// Too many names begin with a single letter.
const MIN_NAME_CHARS: usize = 2;
/// Characters between a record's type and its id when people write both.
const SEPARATORS: [char; 3] = ['/', ' ', ':'];

/// Everything a text may name in the scope, and a page of the jobs about it. Apps come without their gauges, which only the sampler has.
///
/// # Errors
/// A text that is empty or too long; [`DeliveryError::Queue`] when it took too long.
pub async fn trail(
    pool: &PgPool,
    scope: Scope,
    query: &TrailQuery,
    page: PageRequest,
) -> Result<Trail, DeliveryError> {
    let text = query.q.trim();
    check(text)?;
    let only_app = scope.app_id().or(query.app_id);
    if query.app_id.is_some_and(|app_id| !scope.contains(app_id)) {
        return Ok(nothing());
    }
    let wants = |reading| query.reading.is_none_or(|only| only == reading);
    let id = text.parse::<JobId>().ok();
    let mut keys = TrailKeys { app_id: query.app_id, ..TrailKeys::default() };

    if wants(TrailReading::Record) {
        keys.records = records(pool, only_app, query, text).await?;
    }
    let named_records = keys.records.len();
    let mut job = None;
    if let (true, Some(id)) = (wants(TrailReading::Job), id) {
        job = queue::store::jobs::find_by_any_id(pool, scope, id)
            .await?
            .filter(|job| query.app_id.is_none_or(|app_id| app_id == job.app_id));
    }
    if let Some(job) = &job {
        keys.job_id = Some(job.id);
        // All jobs of its record, before and after this one.
        if let (Some(record_type), Some(record_id)) = (job.record_type.clone(), job.record_id.clone()) {
            let key = RecordKey { app_id: job.app_id, record_type, record_id };
            if !keys.records.contains(&key) {
                keys.records.push(key);
            }
        }
    }
    let more_records = keys.records.len() > MAX_RECORDS;
    keys.records.truncate(MAX_RECORDS);
    keys.correlation_id = wants(TrailReading::Correlation).then(|| text.to_owned());
    // The deduplication id of a record's job names the record.
    let is_of_plain_jobs = queue::store::jobs::record_of(text).is_none();
    keys.deduplication_id = (is_of_plain_jobs && wants(TrailReading::Deduplication)).then(|| text.to_owned());
    let jobs = insight::store::trail::trail(pool, scope, &keys, page).await?;

    let mut apps = Vec::new();
    if wants(TrailReading::App) && page.after.is_none() && text.chars().count() >= MIN_NAME_CHARS {
        for app in store::trail::apps(pool, scope, text, MAX_APPS).await? {
            let failures = failures(pool, scope, app.id).await?;
            apps.push(TrailApp::new(app, failures));
        }
    }
    let shown = shown(pool, scope, &keys.records).await?;
    let is_of = |read: &dyn Fn(&model::job::Job) -> bool| jobs.items.iter().any(|item| read(&item.job));
    let found = [
        (TrailReading::Record, named_records > 0),
        (TrailReading::Job, job.is_some()),
        (
            TrailReading::Correlation,
            keys.correlation_id.is_some() && is_of(&|job| job.correlation_ids.iter().any(|id| id == text)),
        ),
        (
            TrailReading::Deduplication,
            keys.deduplication_id.is_some() && is_of(&|job| job.deduplication_id.as_deref() == Some(text)),
        ),
        (TrailReading::App, !apps.is_empty()),
    ];
    Ok(Trail {
        readings: found.into_iter().filter_map(|(reading, is_found)| is_found.then_some(reading)).collect(),
        records: shown,
        more_records,
        apps,
        items: jobs.items,
        next_cursor: jobs.next_cursor,
    })
}

fn check(text: &str) -> Result<(), DeliveryError> {
    let mut faults = Faults::default();
    faults.require(
        (1..=255).contains(&text.chars().count()) && !text.contains('\0'),
        "q",
        "must be 1 to 255 characters",
    );
    Ok(faults.into_result()?)
}

const fn nothing() -> Trail {
    Trail {
        readings: Vec::new(),
        records: Vec::new(),
        more_records: false,
        apps: Vec::new(),
        items: Vec::new(),
        next_cursor: None,
    }
}

/// Finds one more than are shown.
async fn records(
    pool: &PgPool,
    app_id: Option<AppId>,
    query: &TrailQuery,
    text: &str,
) -> Result<Vec<RecordKey>, DeliveryError> {
    let mut named = names(text);
    if let Some(only) = &query.record_type {
        named.retain(|(kind, _)| kind.as_ref().is_none_or(|kind| kind == only));
        for (kind, _) in &mut named {
            *kind = Some(only.clone());
        }
    }
    let limit = i64::try_from(MAX_RECORDS).unwrap_or(i64::MAX) + 1;
    store::trail::records(pool, app_id, &named, limit).await
}

/// The records with what each integration has of them.
async fn shown(pool: &PgPool, scope: Scope, keys: &[RecordKey]) -> Result<Vec<TrailRecord>, DeliveryError> {
    let mut shown = Vec::with_capacity(keys.len());
    for RecordKey { app_id, record_type, record_id } in keys {
        // Jobs may outlive their record and their app.
        let found = async {
            let app_name = store::apps::get(pool, scope, *app_id).await?.name;
            let record = store::records::get(pool, scope, *app_id, record_type, record_id).await?;
            Ok(TrailRecord { app_name, record })
        };
        match found.await {
            Ok(record) => shown.push(record),
            Err(DeliveryError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(shown)
}

/// The records a text can name: as an id, or as type and id.
fn names(text: &str) -> Vec<Named> {
    let mut named = vec![(None, text.to_owned())];
    named.extend(queue::store::jobs::record_of(text).map(|(kind, id)| (Some(kind), id)));
    if let Some((kind, id)) = text.split_once(SEPARATORS) {
        let id = id.trim_start_matches([' ', '/']);
        if !kind.is_empty() && !id.is_empty() {
            named.push((Some(kind.to_owned()), id.to_owned()));
        }
    }
    named.sort();
    named.dedup();
    named
}

async fn failures(pool: &PgPool, scope: Scope, app_id: AppId) -> Result<Vec<DeadLetter>, DeliveryError> {
    let filter = JobFilter { app_id: Some(app_id), ..JobFilter::default() };
    let page = PageRequest { limit: MAX_FAILURES, after: None };
    Ok(insight::store::dead_letters::list(pool, scope, &filter, page).await?.items)
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn a_record_is_named_by_its_id_or_by_type_and_id() {
        let said = |text: &str| {
            names(text)
                .into_iter()
                .map(|(kind, id)| format!("{}>{id}", kind.unwrap_or_default()))
                .collect::<Vec<_>>()
        };
        assert_eq!(said("4711"), [">4711"]);
        assert_eq!(said("product 4711"), [">product 4711", "product>4711"]);
        assert_eq!(said("product / 4711"), [">product / 4711", "product>4711"]);
        assert_eq!(said("product a/b c"), [">product a/b c", "product>a/b c"]);
        assert_eq!(
            said("headgate:record:product:4711").first().map(String::as_str),
            Some(">headgate:record:product:4711")
        );
        assert!(said("headgate:record:product:4711").contains(&"product>4711".to_owned()));
        assert_eq!(said("/4711"), [">/4711"], "nothing before the separator names no type");
    }
}
