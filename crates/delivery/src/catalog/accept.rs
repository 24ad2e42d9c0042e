//! `accept_events`: validate, hold, fold, write, enqueue.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use model::{
    actor::Scope,
    id::AppId,
    job::EnqueueOutcome,
    json::MAX_RECORD_BYTES,
    problem::Faults,
    record::{Accepted, Attributes, Event},
};
use queue::{
    QueueError,
    store::jobs::{BEGIN, JobSpec},
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{
    fold::State,
    key::{RecordKey, deduplication_id},
    numbers::normalise,
};
use crate::{
    Delivery, DeliveryError,
    store::{
        catalog::{self as rows, HeldRecord, Interested, KeyColumns, Written},
        record_counts,
    },
};

/// Events in one request.
const MOST_EVENTS: usize = 1_000;
/// Attributes read at once: a request of small events must not bring a thousand large records into memory.
const PORTION_BYTES: usize = 16_000_000;
/// Jobs handed to the queue in one statement.
const MOST_JOBS_AT_ONCE: usize = 5_000;
/// How often a request is repeated that lost a race against another one.
const TRIES: usize = 5;

/// Whether faults are named within an array or within a single event.
#[derive(Clone, Copy)]
enum Form {
    One,
    Array,
}

impl Form {
    fn pointer(self, index: usize) -> String {
        match self {
            Self::One => String::new(),
            Self::Array => format!("/{index}"),
        }
    }
}

/// Lost against another request that made the same record: repeat.
struct Raced;

enum Failed {
    Raced(Raced),
    For(DeliveryError),
}

impl From<DeliveryError> for Failed {
    fn from(error: DeliveryError) -> Self {
        match error {
            DeliveryError::Queue(QueueError::Database(error)) if is_deadlock(&error) => Self::Raced(Raced),
            error => Self::For(error),
        }
    }
}

impl From<QueueError> for Failed {
    fn from(error: QueueError) -> Self {
        DeliveryError::from(error).into()
    }
}

fn is_deadlock(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|e| e.code()).is_some_and(|code| code == "40P01" || code == "40001")
}

impl Delivery {
    /// Takes in the events of an array, all or none. Faults are named as `/3/attributes/…`.
    ///
    /// # Errors
    /// Every fault of every event; an app that is unknown or outside the scope is not found.
    pub async fn accept_events(&self, scope: Scope, events: Vec<Event>) -> Result<Accepted, DeliveryError> {
        self.accept(scope, events, Form::Array).await
    }

    /// Takes in one event. Faults are named as `/attributes/…`.
    ///
    /// # Errors
    /// Every fault; an app that is unknown or outside the scope is not found.
    pub async fn accept_event(&self, scope: Scope, event: Event) -> Result<Accepted, DeliveryError> {
        self.accept(scope, vec![event], Form::One).await
    }

    async fn accept(
        &self,
        scope: Scope,
        mut events: Vec<Event>,
        form: Form,
    ) -> Result<Accepted, DeliveryError> {
        check(&events, form)?;
        if events.is_empty() {
            return Ok(Accepted::default());
        }
        if let Some(index) = events.iter().position(|event| !scope.contains(event.app_id)) {
            return Err(DeliveryError::not_found_at("app", format!("{}/app_id", form.pointer(index))));
        }
        for event in &mut events {
            event.attributes.values_mut().for_each(normalise);
            event.correlation_id.get_or_insert_with(|| Uuid::now_v7().to_string());
        }
        for _ in 0..TRIES {
            let mut transaction = self.pool.begin_with(BEGIN).await?;
            match take_in(&mut transaction, &events, form, self.config.max_attempts).await {
                Ok(accepted) => {
                    transaction.commit().await?;
                    if accepted.jobs_created + accepted.jobs_coalesced > 0 {
                        self.waker.jobs_added();
                    }
                    return Ok(accepted);
                }
                Err(Failed::For(error)) => return Err(error),
                Err(Failed::Raced(Raced)) => transaction.rollback().await?,
            }
        }
        Err(DeliveryError::Conflict {
            code: "busy",
            detail: "other requests kept changing the same records: send it again".to_owned(),
        })
    }
}

fn check(events: &[Event], form: Form) -> Result<(), DeliveryError> {
    let mut faults = Faults::default();
    faults.require(
        events.len() <= MOST_EVENTS,
        "",
        "must be at most 1,000 events (limit: items in an array)",
    );
    for (index, event) in events.iter().enumerate().take(MOST_EVENTS) {
        if let Err(part) = event.check() {
            faults.nest(&form.pointer(index), part);
        }
    }
    Ok(faults.into_result()?)
}

/// The events of each record in order, by their place in the request.
type ByRecord = BTreeMap<RecordKey, Vec<usize>>;

async fn take_in(
    conn: &mut PgConnection,
    events: &[Event],
    form: Form,
    max_attempts: i16,
) -> Result<Accepted, Failed> {
    let apps: BTreeSet<Uuid> = events.iter().map(|event| event.app_id.0).collect();
    let apps: Vec<Uuid> = apps.into_iter().collect();
    let known: HashSet<AppId> = rows::hold_apps(conn, &apps).await?.into_iter().collect();
    if let Some(index) = events.iter().position(|event| !known.contains(&event.app_id)) {
        let pointer = format!("{}/app_id", form.pointer(index));
        return Err(DeliveryError::not_found_at("app", pointer).into());
    }
    let interested = rows::hold_interested(conn, &apps).await?;

    let mut by_record = ByRecord::new();
    for (index, event) in events.iter().enumerate() {
        by_record.entry(RecordKey::of(event)).or_default().push(index);
    }
    let held = hold(conn, &by_record).await?;
    let mut changing = vec![false; events.len()];
    let mut counts: BTreeMap<(AppId, String), i32> = BTreeMap::new();
    for portion in portions(&by_record, &held, events) {
        let written = fold_portion(conn, &portion, &held, events, form, &mut changing).await?;
        write(conn, written, &held, &mut counts).await?;
    }
    let deltas: Vec<(AppId, String, i32)> =
        counts.into_iter().filter(|(_, n)| *n != 0).map(|((app, kind), n)| (app, kind, n)).collect();
    record_counts::append(conn, &deltas).await?;

    let mut accepted = Accepted {
        accepted: count(events.len()),
        records_changed: count(changing.iter().filter(|changes| **changes).count()),
        ..Accepted::default()
    };
    accepted.unchanged = accepted.accepted - accepted.records_changed;
    let mut specs = specs(events, &changing, interested, max_attempts);
    loop {
        let chunk: Vec<JobSpec> = specs.by_ref().take(MOST_JOBS_AT_ONCE).collect();
        if chunk.is_empty() {
            break;
        }
        for job in queue::store::jobs::enqueue(conn, &chunk).await? {
            match job.outcome {
                EnqueueOutcome::Created => accepted.jobs_created += 1,
                EnqueueOutcome::Coalesced => accepted.jobs_coalesced += 1,
            }
        }
    }
    Ok(accepted)
}

async fn hold(
    conn: &mut PgConnection,
    by_record: &ByRecord,
) -> Result<HashMap<RecordKey, HeldRecord>, DeliveryError> {
    let held = rows::hold_records(conn, &KeyColumns::of(by_record.keys())).await?;
    Ok(held
        .into_iter()
        .map(|row| {
            let key = RecordKey {
                app_id: row.app_id,
                record_type: row.record_type.clone(),
                record_id: row.record_id.clone(),
            };
            (key, row)
        })
        .collect())
}

/// The records of a request in portions of bounded size, in key order.
fn portions<'a>(
    by_record: &'a ByRecord,
    held: &HashMap<RecordKey, HeldRecord>,
    events: &[Event],
) -> Vec<Vec<(&'a RecordKey, &'a [usize])>> {
    let mut portions = vec![Vec::new()];
    let mut bytes = 0;
    for (key, indexes) in by_record {
        let stored = held.get(key).map_or(0, |row| usize::try_from(row.attribute_bytes).unwrap_or(0));
        let given: usize = indexes.iter().map(|index| rough_bytes(&events[*index].attributes)).sum();
        if bytes > 0 && bytes + stored + given > PORTION_BYTES {
            portions.push(Vec::new());
            bytes = 0;
        }
        bytes += stored + given;
        if let Some(portion) = portions.last_mut() {
            portion.push((key, indexes.as_slice()));
        }
    }
    portions
}

/// A lower bound that costs nothing: what matters here are the stored records; the request itself is limited already.
fn rough_bytes(attributes: &Attributes) -> usize {
    attributes.len() * 8
}

async fn fold_portion(
    conn: &mut PgConnection,
    portion: &[(&RecordKey, &[usize])],
    held: &HashMap<RecordKey, HeldRecord>,
    events: &[Event],
    form: Form,
    changing: &mut [bool],
) -> Result<Vec<Written>, DeliveryError> {
    let stored = portion.iter().map(|(key, _)| *key).filter(|key| held.contains_key(*key));
    let mut attributes: HashMap<RecordKey, Attributes> =
        rows::read_attributes(conn, &KeyColumns::of(stored)).await?.into_iter().collect();
    let mut written = Vec::new();
    let mut too_large = Faults::default();
    for (key, indexes) in portion {
        let mut state = held.get(*key).map_or_else(State::default, |row| State {
            version: row.version,
            is_live: !row.is_deleted,
            attributes: attributes.remove(*key).unwrap_or_default(),
        });
        let mut last_change = None;
        for &index in *indexes {
            if state.apply(&events[index]) {
                changing[index] = true;
                last_change = Some(index);
            }
        }
        let Some(last_change) = last_change else { continue };
        let bytes = json_bytes(&state.attributes);
        if bytes > MAX_RECORD_BYTES {
            too_large.add(
                format!("{}/attributes", form.pointer(last_change)),
                format!("make the record {bytes} bytes of JSON; limit: record 1 MB"),
            );
        }
        written.push(Written {
            key: (*key).clone(),
            version: state.version,
            attributes: state.attributes,
            attribute_bytes: i32::try_from(bytes).unwrap_or(i32::MAX),
            is_deleted: !state.is_live,
        });
    }
    if too_large.0.is_empty() { Ok(written) } else { Err(DeliveryError::TooLarge(too_large)) }
}

async fn write(
    conn: &mut PgConnection,
    written: Vec<Written>,
    held: &HashMap<RecordKey, HeldRecord>,
    counts: &mut BTreeMap<(AppId, String), i32>,
) -> Result<(), Failed> {
    for row in &written {
        let was_live = held.get(&row.key).is_some_and(|row| !row.is_deleted);
        *counts.entry((row.key.app_id, row.key.record_type.clone())).or_default() +=
            i32::from(!row.is_deleted) - i32::from(was_live);
    }
    let (known, fresh): (Vec<Written>, Vec<Written>) =
        written.into_iter().partition(|row| held.contains_key(&row.key));
    let wanted = fresh.len();
    if wanted > 0 && rows::insert(conn, fresh).await? != u64::try_from(wanted).unwrap_or(u64::MAX) {
        return Err(Failed::Raced(Raced));
    }
    if !known.is_empty() {
        rows::update(conn, known).await?;
    }
    Ok(())
}

/// One job per changing event and interested integration; the queue folds those of one record. In the order of (integration,
/// deduplication id), in which everybody locks jobs, so that portions of a large request keep to it too. Made one by one as they are
/// asked for: a thousand events are a million jobs for a thousand integrations.
fn specs<'a>(
    events: &'a [Event],
    changing: &[bool],
    mut interested: Vec<Interested>,
    max_attempts: i16,
) -> impl Iterator<Item = JobSpec> + 'a {
    let mut keyed: Vec<(String, RecordKey, &Event)> = events
        .iter()
        .zip(changing)
        .filter(|(_, changes)| **changes)
        .map(|(event, _)| {
            let key = RecordKey::of(event);
            (deduplication_id(&key.record_type, &key.record_id), key, event)
        })
        .collect();
    // Stable: the events of one record stay in the order of acceptance.
    keyed.sort_by(|a, b| a.0.cmp(&b.0));
    interested.sort_by_key(|integration| integration.id);
    let keyed = Arc::new(keyed);
    interested.into_iter().flat_map(move |integration| {
        let keyed = Arc::clone(&keyed);
        (0..keyed.len()).filter_map(move |index| {
            let (deduplication_id, key, event) = &keyed[index];
            integration.wants(key).then(|| JobSpec {
                app_id: key.app_id,
                integration_id: integration.id,
                job_type: event.event_type.as_str().to_owned(),
                payload: None,
                record: Some((key.record_type.clone(), key.record_id.clone())),
                deduplication_id: Some(deduplication_id.clone()),
                serialize_key: None,
                correlation_id: event.correlation_id.clone().unwrap_or_default(),
                batch_id: None,
                priority: 0,
                run_at: integration.window_ends_at,
                expires_at: None,
                max_attempts: integration.max_attempts.unwrap_or(max_attempts),
                timeout_ms: integration.timeout_ms,
                is_full: false,
            })
        })
    })
}

fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Length as JSON text, without making the text.
fn json_bytes(attributes: &Attributes) -> usize {
    struct Counter(usize);
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // Counting cannot fail, and keys are strings: there is nothing serde_json could refuse.
    let _ = serde_json::to_writer(&mut counter, attributes);
    counter.0
}
