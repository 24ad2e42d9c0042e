//! Jobs of one call that do the same work: they are folded into one row before the statement.

use crate::store::jobs::accept::spec::JobSpec;
use chrono::{DateTime, Utc};
use model::id::{BatchId, IntegrationId, JobId};
use model::job::rank;
use model::trace::TraceContext;
use serde_json::Value;
use std::collections::HashMap;

/// A job keeps type and time of the last so many changes folded into it. The statement has the same number.
pub(super) const MAX_FOLDED_KEPT: usize = 20;
/// A job keeps the last so many of its correlation ids. The statement has the same number.
const MAX_CORRELATIONS_KEPT: usize = 20;

/// Integration and deduplication id.
pub(super) type Key<'a> = (IntegrationId, &'a str);

/// One row of the statement: a spec, with those of the same call folded into it.
pub(super) struct Row<'a> {
    pub(super) id: JobId,
    /// The index of the first of them in the input.
    pub(super) position: usize,
    pub(super) spec: &'a JobSpec,
    /// The most urgent of them.
    pub(super) urgent: &'a JobSpec,
    pub(super) rank: i16,
    pub(super) payload: &'a Option<Value>,
    pub(super) run_at: Option<DateTime<Utc>>,
    pub(super) gathers_until: Option<DateTime<Utc>>,
    pub(super) expires_at: Option<DateTime<Utc>>,
    pub(super) max_attempts: i16,
    pub(super) timeout_ms: Option<i32>,
    pub(super) batch_id: Option<BatchId>,
    pub(super) is_full: bool,
    pub(super) folded: i32,
    /// The job types of the spec and of those folded into it, in order; empty when nothing was folded.
    pub(super) kinds: Vec<&'a str>,
    /// The distinct correlation ids of the spec and of those folded into it, the newest last; empty when there is only the spec's.
    pub(super) correlations: Vec<&'a str>,
    pub(super) trace: Option<TraceContext>,
}

impl<'a> Row<'a> {
    pub(super) fn key(&self) -> Option<Key<'a>> {
        Some((self.spec.integration_id, self.spec.deduplication_id.as_deref()?))
    }

    /// Notes the correlation id of a change that is folded in.
    fn correlate(&mut self, id: &'a str) {
        if self.correlations.is_empty() {
            if id == self.spec.correlation_id {
                return;
            }
            self.correlations.push(&self.spec.correlation_id);
        }
        self.correlations.retain(|seen| *seen != id);
        self.correlations.push(id);
    }

    pub(super) fn earlier_correlations(&self) -> usize {
        self.correlations.len().saturating_sub(MAX_CORRELATIONS_KEPT)
    }

    pub(super) fn is_plain(&self) -> bool {
        self.spec.deduplication_id.is_none() && self.spec.serialize_key.is_none()
    }
}

/// Folds the duplicates within one call in memory, because `on conflict do update` cannot touch a row twice. Returns the rows, and for each spec
/// the id of its row.
pub(super) fn fold(specs: &[JobSpec]) -> (Vec<Row<'_>>, Vec<JobId>) {
    let mut rows: Vec<Row<'_>> = Vec::with_capacity(specs.len());
    let mut row_of = Vec::with_capacity(specs.len());
    let mut seen: HashMap<(IntegrationId, &str), usize> = HashMap::new();
    for (position, spec) in specs.iter().enumerate() {
        let rank = rank(&spec.job_type, spec.priority);
        let duplicate =
            spec.deduplication_id.as_deref().and_then(|id| seen.get(&(spec.integration_id, id)).copied());
        if let Some(row) = duplicate.and_then(|index| rows.get_mut(index)) {
            if rank < row.rank {
                row.rank = rank;
                row.urgent = spec;
            }
            row.payload = &spec.payload;
            row.is_full |= spec.is_full;
            row.folded += 1;
            if row.kinds.is_empty() {
                row.kinds.push(&row.spec.job_type);
            }
            row.kinds.push(&spec.job_type);
            row.correlate(&spec.correlation_id);
            row.trace = spec.trace.or(row.trace);
            // Now (none) is sooner than any time.
            row.run_at = row.run_at.zip(spec.run_at).map(|(a, b)| a.min(b));
            row.gathers_until = row.gathers_until.zip(spec.gathers_until).map(|(a, _)| a);
            // By the rules of the statement: never (none) is the latest time of all, and of other settings the last one given counts.
            row.expires_at = row.expires_at.zip(spec.expires_at).map(|(a, b)| a.max(b));
            row.max_attempts = row.max_attempts.max(spec.max_attempts);
            row.timeout_ms = spec.timeout_ms.or(row.timeout_ms);
            row.batch_id = spec.batch_id.or(row.batch_id);
            row_of.push(row.id);
            continue;
        }
        let row = Row {
            id: JobId::generate(),
            position,
            spec,
            urgent: spec,
            rank,
            payload: &spec.payload,
            run_at: spec.run_at,
            gathers_until: spec.gathers_until,
            expires_at: spec.expires_at,
            max_attempts: spec.max_attempts,
            timeout_ms: spec.timeout_ms,
            batch_id: spec.batch_id,
            is_full: spec.is_full,
            folded: 0,
            kinds: Vec::new(),
            correlations: Vec::new(),
            trace: spec.trace,
        };
        if let Some(id) = spec.deduplication_id.as_deref() {
            seen.insert((spec.integration_id, id), rows.len());
        }
        row_of.push(row.id);
        rows.push(row);
    }
    (rows, row_of)
}
