//! Asking for a bulk action.

use super::{apply::Tally, selection::Selection};
use crate::error::QueueError;
use chrono::Utc;
use model::{
    actor::Actor,
    filter::JobFilter,
    id::{AppId, OperationId},
    job::JobStatus,
    operation::{BulkOutcome, BulkSubject, DryRun, NewBulk},
    problem::Faults,
    rules::narrowing,
    text,
};
use sqlx::{PgPool, types::Json};

/// Up to so many are done at once.
const AT_ONCE: i64 = 100;
/// How long more are held unless the caller says.
const HOLD_SECONDS: i32 = 30;
/// Jobs a second an operation without a chosen rate manages, for the estimate of a dry run.
const PACE: i64 = 5_000;
/// Jobs a dry run shows.
const SAMPLE: i64 = 5;

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub enum BulkStart {
    /// Nothing was touched: what would be.
    DryRun(DryRun),
    /// Done, or begun.
    Outcome(BulkOutcome),
}

/// Counts, shows, does or begins a bulk action within the actor's scope.
///
/// # Errors
/// `Invalid` with every fault of `new`; `NotFound` never: what does not exist, or is not the actor's, does not match.
pub async fn start(
    pool: &PgPool,
    actor: &Actor,
    subject: BulkSubject,
    new: NewBulk,
) -> Result<BulkStart, QueueError> {
    new.check(subject)?;
    let hold_seconds = new.hold_seconds.unwrap_or(HOLD_SECONDS);
    let ids = new.ids.map(|mut ids| {
        ids.sort_unstable();
        ids.dedup();
        ids
    });
    // What is older than an hour now is what is meant, also when its turn comes in another hour.
    let filter = new.filter.unwrap_or_default().at(Utc::now());
    check(subject, &filter)?;
    let selection = Selection { subject, action: new.action, scope: actor.scope(), ids, filter };
    let found = selection.find(pool).await?;

    if new.dry_run {
        let sample = selection.sample(pool, SAMPLE).await?;
        let eta_seconds = Some(estimate(found.matched, new.rate_per_second, hold_seconds));
        let breakdown = found.parts;
        return Ok(BulkStart::DryRun(DryRun { matched: found.matched, breakdown, sample, eta_seconds }));
    }
    let Some(upper_id) = found.upper_id else {
        return Ok(BulkStart::Outcome(BulkOutcome::Done { matched: 0, changed: 0, skipped: 0 }));
    };
    if found.matched <= AT_ONCE {
        let ids = selection.ids(pool, None, upper_id, AT_ONCE).await?;
        let Tally { changed, .. } = selection.apply_now(pool, &ids).await?;
        // What came to its end between count and action was skipped as well.
        let matched = found.matched.max(changed);
        let skipped = matched - changed;
        return Ok(BulkStart::Outcome(BulkOutcome::Done { matched, changed, skipped }));
    }

    let operation_id = OperationId::generate();
    sqlx::query!(
        r#"
        insert into headgate.operations (id, subject, action, filter, ids, reason, requested_by, app_id, state, hold_until,
            rate_per_second, matched, upper_id)
        values ($1, $2, $3, $4, $5, $6, $7, $8, 'held', clock_timestamp() + make_interval(secs => $9), $10, $11, $12)
        "#,
        operation_id as OperationId,
        subject.as_str(),
        selection.action.as_str(),
        Json(&selection.filter) as _,
        selection.ids.as_deref(),
        new.reason.map(|reason| text::sanitise(&reason, 500)),
        text::sanitise(&actor.name, 255),
        actor.scope().app_id() as Option<AppId>,
        f64::from(hold_seconds),
        new.rate_per_second,
        found.matched,
        upper_id,
    )
    .execute(pool)
    .await?;
    Ok(BulkStart::Outcome(BulkOutcome::Started { operation_id, matched: found.matched }))
}

/// What no list would look for is not counted either.
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
    let rate = rate_per_second.map_or(PACE, i64::from).max(1);
    i64::from(hold_seconds) + (matched + rate - 1) / rate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_take_no_time_and_many_their_hold_and_their_rate() {
        for (matched, rate, hold, seconds) in
            [(100, Some(1), 30, 0), (101, Some(10), 30, 41), (25_000, None, 0, 5), (1_000, Some(1_000), 0, 1)]
        {
            assert_eq!(estimate(matched, rate, hold), seconds);
        }
    }
}
