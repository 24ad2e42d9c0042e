//! Starting a bulk operation.

use super::load;
use super::read::seconds_for;
use super::run::run_now;
use super::selection::{Found, Selection};
use chrono::Utc;
use model::actor::Actor;
use model::filter::JobFilter;
use model::id::{AppId, JobId, OperationId};
use model::job::JobStatus;
use model::operation::{
    AT_ONCE, BulkAction, BulkDone, BulkOutcome, BulkStart, BulkStarted, BulkSubject, DryRun, NewBulk,
    SampleRow,
};
use model::problem::Faults;
use model::rules::narrowing;
use model::text;
use queue::error::QueueError;
use sqlx::{PgConnection, PgPool, types::Json};

/// The hold of a larger operation, unless the caller gives one.
const DEFAULT_HOLD_SECONDS: i32 = 30;
/// How long the leader leaves a small operation to its request.
const REQUEST_ONLY_SECONDS: i32 = 10;
/// Jobs that a dry run shows.
const SAMPLE: i64 = 5;

/// A bulk operation whose jobs are counted; nothing is touched yet.
#[derive(Clone, Debug)]
pub struct PreparedBulk {
    selection: Selection,
    found: Found,
    sample: Vec<SampleRow>,
    hold_seconds: i32,
    rate_per_second: Option<i32>,
    reason: Option<String>,
    requested_by: String,
}

/// Counts the jobs of a bulk operation within the actor's scope. What does not exist, or is outside the scope, does not match.
///
/// # Errors
/// `Invalid` with every fault of `new`.
pub async fn prepare(
    pool: &PgPool,
    actor: &Actor,
    subject: BulkSubject,
    new: NewBulk,
) -> Result<PreparedBulk, QueueError> {
    new.check(subject)?;
    let ids = new.ids.map(|mut ids| {
        ids.sort_unstable();
        ids.dedup();
        ids
    });
    // Relative times are fixed now: "older than an hour" means what is so now, also when the operation runs later.
    let filter = new.filter.unwrap_or_default().at(Utc::now());
    check(subject, &filter)?;
    let selection =
        Selection { subject, action: new.action, scope: actor.scope(), ids, filter, undoes: None };
    let found = selection.find(pool).await?;
    let sample = selection.sample(pool, SAMPLE).await?;
    Ok(PreparedBulk {
        selection,
        found,
        sample,
        hold_seconds: new.hold_seconds.unwrap_or(DEFAULT_HOLD_SECONDS),
        rate_per_second: new.rate_per_second,
        reason: new.reason.map(|reason| text::sanitise(&reason, 500)),
        requested_by: text::sanitise(&actor.name, 255),
    })
}

impl PreparedBulk {
    /// The exact number of jobs.
    #[must_use]
    pub const fn matched(&self) -> i64 {
        self.found.matched
    }

    /// Whether the request itself runs it.
    #[must_use]
    pub const fn is_small(&self) -> bool {
        self.found.matched <= AT_ONCE
    }

    /// What it would do.
    pub async fn dry_run(self, pool: &PgPool) -> Result<DryRun, QueueError> {
        let matched = self.matched();
        let added_load = if self.selection.action == BulkAction::Requeue {
            load::added(pool, &self.found.parts).await?
        } else {
            Vec::new()
        };
        let handed_over = estimate(matched, self.rate_per_second, self.hold_seconds);
        let drained = added_load.iter().filter_map(|load| load.drain_seconds).max().unwrap_or(0);
        Ok(DryRun {
            matched,
            sample: self.sample.iter().map(|row| row.job_id).collect(),
            sample_rows: self.sample,
            added_load,
            breakdown: self.found.parts,
            eta_seconds: Some(handed_over.max(drained)),
        })
    }

    /// Stores the operation; none when nothing matches. A small one is run after the commit, by [`outcome`].
    pub async fn store(&self, connection: &mut PgConnection) -> Result<Option<OperationId>, QueueError> {
        let Some(upper_id) = self.found.upper_id else { return Ok(None) };
        let id = OperationId::generate();
        let sample: Vec<JobId> = self.sample.iter().map(|row| row.job_id).collect();
        // A small one is left to its request at first, and has no rate.
        sqlx::query!(
            r#"
            insert into headgate.operations (id, subject, action, filter, ids, reason, requested_by, app_id, state, hold_until,
                rate_per_second, matched, upper_id, breakdown, sample, paced_until)
            values ($1, $2, $3, $4, $5, $6, $7, $8, case when $9 then 'running' else 'held' end,
                case when not $9 then clock_timestamp() + make_interval(secs => $10) end, case when not $9 then $11::int end, $12, $13,
                $14, $15, case when $9 then clock_timestamp() + make_interval(secs => $10) end)
            "#,
            id as OperationId,
            self.selection.subject.as_str(),
            self.selection.action.as_str(),
            Json(&self.selection.filter) as _,
            self.selection.ids.as_deref(),
            self.reason,
            self.requested_by,
            self.selection.scope.app_id() as Option<AppId>,
            self.is_small(),
            f64::from(if self.is_small() { REQUEST_ONLY_SECONDS } else { self.hold_seconds }),
            self.rate_per_second,
            self.found.matched,
            upper_id,
            Json(&self.found.parts) as _,
            Json(sample) as _,
        )
        .execute(connection)
        .await?;
        Ok(Some(id))
    }
}

/// Makes a dry run of a bulk operation within the actor's scope, or runs it (a small one to its end).
///
/// # Errors
/// As [`prepare`].
pub async fn start(
    pool: &PgPool,
    actor: &Actor,
    subject: BulkSubject,
    new: NewBulk,
) -> Result<BulkStart, QueueError> {
    let is_dry = new.dry_run;
    let prepared = prepare(pool, actor, subject, new).await?;
    if is_dry {
        return Ok(BulkStart::DryRun(prepared.dry_run(pool).await?));
    }
    let id = prepared.store(&mut *pool.acquire().await?).await?;
    Ok(BulkStart::Outcome(outcome(pool, actor, &prepared, id).await?))
}

/// The outcome of a stored operation; a small one is run first. If that fails, the leader does the rest.
pub async fn outcome(
    pool: &PgPool,
    actor: &Actor,
    prepared: &PreparedBulk,
    id: Option<OperationId>,
) -> Result<BulkOutcome, QueueError> {
    let matched = prepared.matched();
    let Some(operation_id) = id else {
        return Ok(BulkOutcome::Done(BulkDone { matched, changed: 0, skipped: 0, operation_id: None }));
    };
    if !prepared.is_small() {
        return Ok(BulkOutcome::Started(BulkStarted { operation_id, matched }));
    }
    let done = run_now(pool, actor.scope(), operation_id).await?;
    let (changed, skipped) = (done.changed, done.skipped);
    Ok(BulkOutcome::Done(BulkDone { matched, changed, skipped, operation_id: Some(operation_id) }))
}

/// A filter that lists refuse is refused here too.
fn check(subject: BulkSubject, filter: &JobFilter) -> Result<(), QueueError> {
    let mut filter = filter.clone();
    if subject == BulkSubject::DeadLetters {
        filter.status = Some(JobStatus::Failed);
    }
    narrowing::check(&filter, Utc::now()).map_err(|found| {
        let mut faults = Faults::default();
        for fault in found.0 {
            faults.add(format!("/filter/{}", fault.pointer), fault.detail);
        }
        faults.into()
    })
}

fn estimate(matched: i64, rate_per_second: Option<i32>, hold_seconds: i32) -> i64 {
    if matched <= AT_ONCE {
        return 0;
    }
    i64::from(hold_seconds) + seconds_for(matched, rate_per_second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_operations_take_no_time_and_larger_ones_their_hold_and_rate() {
        for (matched, rate, hold, seconds) in
            [(100, Some(1), 30, 0), (101, Some(10), 30, 41), (25_000, None, 0, 5), (1_000, Some(1_000), 0, 1)]
        {
            assert_eq!(estimate(matched, rate, hold), seconds);
        }
    }
}
