//! What one transaction does for the requests it accepts: lock, fold, write, enqueue.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use model::attributes::Attributes;
use model::event::{Accepted, Event};
use model::id::AppId;
use model::job::EnqueueOutcome;
use model::json::{MAX_RECORD_BYTES, count_bytes};
use model::problem::Faults;
use queue::{QueueError, store::jobs::JobSpec};
use sqlx::PgConnection;
use uuid::Uuid;

use super::fold::{Effect, State};
use super::key::{RecordKey, deduplication_id};
use super::repeated::repeated;
use super::request::{Given, Request};
use super::times::Times;
use crate::store::catalog::{Interested, KeyColumns, LockedApps, LockedRecord, Written};
use crate::store::{catalog as rows, sent};
use crate::{DeliveryConfig, DeliveryError};

/// Bytes of attributes read at a time: a request of small events must not bring a thousand large records into memory.
const PORTION_BYTES: usize = 16_000_000;
const MAX_JOBS_PER_STATEMENT: usize = 5_000;

/// Another request created the same record first: the transaction has to be repeated.
pub(super) struct Raced;

pub(super) enum Failed {
    Raced(Raced),
    Error(DeliveryError),
}

impl From<DeliveryError> for Failed {
    fn from(error: DeliveryError) -> Self {
        match error {
            DeliveryError::Queue(error) if error.lost_a_race() => Self::Raced(Raced),
            error => Self::Error(error),
        }
    }
}

impl From<QueueError> for Failed {
    fn from(error: QueueError) -> Self {
        DeliveryError::from(error).into()
    }
}

/// Accepts several requests as if they had come one after the other, with a result for each. A refusal of one is an error for all, and the
/// caller repeats them separately.
pub(super) async fn accept_requests(
    conn: &mut PgConnection,
    requests: &[Request],
    config: &DeliveryConfig,
) -> Result<Vec<Accepted>, Failed> {
    let given = Given::of(requests);
    let apps: BTreeSet<Uuid> = given.iter().map(|given| given.event.app_id.0).collect();
    let apps: Vec<Uuid> = apps.into_iter().collect();
    let LockedApps { existing, interested, now } = rows::lock_interested(conn, &apps).await?;
    if let Some(unknown) = given.iter().find(|given| !existing.contains(&given.event.app_id)) {
        return Err(DeliveryError::not_found_at("app", format!("{}/app_id", unknown.pointer())).into());
    }

    let repeated = repeated(conn, &given, config.event_id_retention).await?;
    let mut by_record = ByRecord::new();
    for (at, given) in given.iter().enumerate().filter(|(at, _)| !repeated[*at]) {
        by_record.entry(RecordKey::of(given.event)).or_default().push(at);
    }
    let mut locked = lock_records(conn, &by_record).await?;
    let mut effects = vec![Effect::default(); given.len()];
    let mut changed = Vec::new();
    for portion in portions(&by_record, &locked, &given) {
        let written = fold_portion(conn, &portion, &mut locked, &given, now, &mut effects).await?;
        let counts = counts(&written, &locked);
        if !written.is_empty() && !rows::write(conn, &written, &counts).await? {
            return Err(Failed::Raced(Raced));
        }
        let live = written.into_iter().filter_map(|row| {
            let locked =
                locked.get(&row.key).filter(|locked| !locked.is_deleted && locked.version < row.version)?;
            Some((row.key, locked.version))
        });
        changed.extend(live);
    }

    let mut accepted = vec![Accepted::default(); requests.len()];
    for ((given, effect), repeated) in given.iter().zip(&effects).zip(&repeated) {
        let one = &mut accepted[given.request];
        one.accepted += 1;
        one.records_changed += i64::from(effect.changes);
        one.stale += i64::from(effect.is_stale);
        one.repeated += i64::from(*repeated);
        one.unchanged += i64::from(!effect.changes && !effect.is_stale && !repeated);
    }
    let mut specs = specs(&given, &effects, interested, config.max_attempts);
    loop {
        let (owners, portion): (Vec<usize>, Vec<JobSpec>) =
            specs.by_ref().take(MAX_JOBS_PER_STATEMENT).unzip();
        if portion.is_empty() {
            break;
        }
        for (request, job) in owners.into_iter().zip(queue::store::jobs::enqueue(conn, &portion).await?) {
            match job.outcome {
                EnqueueOutcome::Created => accepted[request].jobs_created += 1,
                EnqueueOutcome::Coalesced => accepted[request].jobs_coalesced += 1,
            }
        }
    }
    sent::no_longer_in_sync(conn, &changed).await.map_err(DeliveryError::from)?;
    Ok(accepted)
}

/// The events of each record in order, as indexes into the given ones.
type ByRecord = BTreeMap<RecordKey, Vec<usize>>;

async fn lock_records(
    conn: &mut PgConnection,
    by_record: &ByRecord,
) -> Result<HashMap<RecordKey, LockedRecord>, DeliveryError> {
    let locked = rows::lock_records(conn, &KeyColumns::of(by_record.keys())).await?;
    Ok(locked
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

/// Splits the records of a request into portions of bounded size, in key order.
fn portions<'a>(
    by_record: &'a ByRecord,
    locked: &HashMap<RecordKey, LockedRecord>,
    given: &[Given<'_>],
) -> Vec<Vec<(&'a RecordKey, &'a [usize])>> {
    let mut portions = vec![Vec::new()];
    let mut bytes = 0;
    for (key, indexes) in by_record {
        let stored = locked.get(key).map_or(0, |row| usize::try_from(row.attribute_bytes).unwrap_or(0));
        let new: usize = indexes.iter().map(|at| rough_bytes(&given[*at].event.attributes)).sum();
        if bytes > 0 && bytes + stored + new > PORTION_BYTES {
            portions.push(Vec::new());
            bytes = 0;
        }
        bytes += stored + new;
        if let Some(portion) = portions.last_mut() {
            portion.push((key, indexes.as_slice()));
        }
    }
    portions
}

/// A lower bound that costs nothing. The stored records are what matters here; the size of the request is limited already.
fn rough_bytes(attributes: &Attributes) -> usize {
    attributes.len() * 8
}

async fn fold_portion(
    conn: &mut PgConnection,
    portion: &[(&RecordKey, &[usize])],
    locked: &mut HashMap<RecordKey, LockedRecord>,
    given: &[Given<'_>],
    now: DateTime<Utc>,
    effects: &mut [Effect],
) -> Result<Vec<Written>, DeliveryError> {
    let is_unread = |key: &&RecordKey| locked.get(*key).is_some_and(|row| row.attributes.is_none());
    let unread = KeyColumns::of(portion.iter().map(|(key, _)| *key).filter(is_unread));
    let mut large: HashMap<RecordKey, (Attributes, Option<Times>)> =
        rows::read_attributes(conn, &unread).await?.into_iter().collect();
    let mut written = Vec::new();
    let mut too_large = Faults::default();
    for (key, indexes) in portion {
        let mut state = locked.get_mut(*key).map_or_else(State::default, |row| {
            let read = row.attributes.take().map(|read| (read.0, row.times.take().map(|times| times.0)));
            let (attributes, times) = read.unwrap_or_else(|| large.remove(*key).unwrap_or_default());
            State { version: row.version, is_live: !row.is_deleted, attributes, times }
        });
        let times_before = state.times.clone();
        let mut last_change = None;
        for &at in *indexes {
            effects[at] = state.apply(given[at].event, now);
            if effects[at].changes {
                last_change = Some(at);
            }
        }
        if last_change.is_none() && state.times == times_before {
            continue;
        }
        let bytes = count_bytes(&state.attributes);
        if let Some(last_change) = last_change.filter(|_| bytes > MAX_RECORD_BYTES) {
            too_large.add(
                format!("{}/attributes", given[last_change].pointer()),
                format!("make the record {bytes} bytes of JSON; limit: record 1 MB"),
            );
        }
        written.push(Written {
            key: (*key).clone(),
            ctid: locked.get(*key).map(|row| row.ctid.clone()),
            version: state.version,
            attributes: state.attributes,
            attribute_bytes: i32::try_from(bytes).unwrap_or(i32::MAX),
            times: state.times,
            is_deleted: !state.is_live,
        });
    }
    if too_large.0.is_empty() { Ok(written) } else { Err(DeliveryError::TooLarge(too_large)) }
}

/// By how much the number of live records of each app and type changes.
fn counts(written: &[Written], locked: &HashMap<RecordKey, LockedRecord>) -> Vec<(AppId, String, i32)> {
    let mut counts: BTreeMap<(AppId, &str), i32> = BTreeMap::new();
    for row in written {
        let was_live = locked.get(&row.key).is_some_and(|row| !row.is_deleted);
        *counts.entry((row.key.app_id, &row.key.record_type)).or_default() +=
            i32::from(!row.is_deleted) - i32::from(was_live);
    }
    let moved = counts.into_iter().filter(|(_, n)| *n != 0);
    moved.map(|((app, kind), n)| (app, kind.to_owned(), n)).collect()
}

/// One job per changing event and interested integration, with the index of its request; the queue folds those of one record. In the order
/// of (integration, deduplication id), in which all transactions lock jobs, so that portions of a large request keep to it too. Lazy: a
/// thousand events are a million jobs for a thousand integrations.
fn specs<'a>(
    given: &[Given<'a>],
    effects: &[Effect],
    mut interested: Vec<Interested>,
    max_attempts: i16,
) -> impl Iterator<Item = (usize, JobSpec)> + 'a {
    let mut keyed: Vec<(String, RecordKey, &'a Event, usize)> = given
        .iter()
        .zip(effects)
        .filter(|(_, effect)| effect.changes)
        .map(|(given, _)| {
            let key = RecordKey::of(given.event);
            (deduplication_id(&key.record_type, &key.record_id), key, given.event, given.request)
        })
        .collect();
    // Stable: the events of one record stay in the order of acceptance.
    keyed.sort_by(|a, b| a.0.cmp(&b.0));
    interested.sort_by_key(|integration| integration.id);
    let keyed = Arc::new(keyed);
    interested.into_iter().flat_map(move |integration| {
        let keyed = Arc::clone(&keyed);
        (0..keyed.len()).filter_map(move |index| {
            let (deduplication_id, key, event, request) = &keyed[index];
            let (run_at, gathers_until) = integration.times(event.event_type);
            let spec = || JobSpec {
                app_id: key.app_id,
                integration_id: integration.id,
                job_type: event.event_type.as_str().to_owned(),
                payload: None,
                record: Some((key.record_type.clone(), key.record_id.clone())),
                deduplication_id: Some(deduplication_id.clone()),
                serialize_key: None,
                correlation_id: event.correlation_id.clone().unwrap_or_default(),
                trace: event.trace,
                batch_id: None,
                priority: 0,
                run_at,
                gathers_until,
                expires_at: None,
                max_attempts: integration.max_attempts.unwrap_or(max_attempts),
                timeout_ms: integration.timeout_ms,
                is_full: false,
            };
            integration.wants(key).then(|| (*request, spec()))
        })
    })
}
