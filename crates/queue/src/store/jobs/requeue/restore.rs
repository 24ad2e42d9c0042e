//! Putting dead letters and cancelled jobs back into the queue, set by set: one job is a set of one.

use crate::error::Result;
use crate::store::jobs::cancel::park;
use crate::store::jobs::rows::entries::move_up;
use crate::store::jobs::rows::keys;
use chrono::{DateTime, Utc};
use model::actor::Scope;
use model::id::{DeadLetterId, IntegrationId, JobId};
use model::job::rank;
use sqlx::PgConnection;
use std::collections::HashSet;

#[derive(Clone, Copy, Debug)]
pub enum EndedIds<'a> {
    /// Dead letters and cancelled jobs, by the job's id.
    Jobs(&'a [JobId]),
    /// Dead letters, by their own id.
    DeadLetters(&'a [DeadLetterId]),
}

/// A job that was restored, or whose work a live job took over.
pub struct Restored {
    /// The job that does the work now.
    pub id: JobId,
    /// The job that was to be restored.
    pub job_id: JobId,
    /// Whether it is live itself: as a row, or as the successor of one that is being processed.
    is_restored: bool,
    /// Whether the job that took it over became more urgent by that.
    is_more_urgent: bool,
}

/// Restores jobs; those that are neither dead nor cancelled any more are left out of the result. Run it in a transaction.
///
/// # Errors
/// When it lost a race: nothing is changed, repeat.
pub async fn restore_to_queue(
    connection: &mut PgConnection,
    scope: Scope,
    which: EndedIds<'_>,
) -> Result<Vec<Restored>> {
    let prepared = prepare(connection, scope, which).await?;
    prepared.store(connection, scope).await
}

/// The jobs that were found. Their integrations and keys are locked, which comes before the lock of any job.
pub(crate) struct Prepared {
    found: Vec<Found>,
    positions: Vec<keys::KeyPosition>,
}

struct Found {
    job_id: JobId,
    is_dead: bool,
    ended_at: Option<DateTime<Utc>>,
    integration_id: IntegrationId,
    serialize_key: Option<String>,
    job_type: String,
    priority: i16,
}

pub(crate) async fn prepare(
    connection: &mut PgConnection,
    scope: Scope,
    which: EndedIds<'_>,
) -> Result<Prepared> {
    let (jobs, dead_letters) = match which {
        EndedIds::Jobs(ids) => (ids, &[][..]),
        EndedIds::DeadLetters(ids) => (&[][..], ids),
    };
    // As in `leave_queue`.
    sqlx::query!("select set_config('plan_cache_mode', 'force_custom_plan', true)")
        .fetch_one(&mut *connection)
        .await?;
    let found = sqlx::query_as!(
        Found,
        r#"
        select job_id as "job_id!: JobId", is_dead as "is_dead!", ended_at, integration_id as "integration_id!: IntegrationId",
            serialize_key, job_type as "job_type!", priority as "priority!"
        from (
            select job_id, true as is_dead, null::timestamptz as ended_at, app_id, integration_id, deduplication_id, serialize_key,
                job_type, priority
            from headgate.dead_letter_jobs where job_id = any ($1) or id = any ($2)
            union all
            select id, false, finished_at, app_id, integration_id, deduplication_id, serialize_key, job_type, priority
            from headgate.finished_jobs where id = any ($1) and status = 4
        ) found
        where $3::uuid is null or app_id = $3
        order by integration_id, deduplication_id collate "C" nulls last, job_id
        "#,
        jobs as &[JobId],
        dead_letters as &[DeadLetterId],
        scope.app_id().map(|id| id.0)
    )
    .fetch_all(&mut *connection)
    .await?;
    lock_integrations(connection, &found).await?;
    let mut keyed: Vec<keys::Keyed<'_>> = found
        .iter()
        .filter_map(|one| {
            let key = one.serialize_key.as_deref()?;
            Some(keys::Keyed { integration_id: one.integration_id, key, job_id: one.job_id })
        })
        .collect();
    // Jobs of one key go to the end of its queue, in the order in which they were accepted.
    keyed.sort_by_key(|one| one.job_id);
    let positions = keys::reserve_positions(connection, &keyed).await?;
    Ok(Prepared { found, positions })
}

/// Keeps integrations from being deleted before the commit: restored jobs would belong to none. One that is already deleted has no lane, and the
/// statement restores nothing of it.
async fn lock_integrations(connection: &mut PgConnection, found: &[Found]) -> Result<()> {
    let ids: Vec<IntegrationId> = found.iter().map(|one| one.integration_id).collect();
    sqlx::query!(
        "select 1 as one from headgate.integrations where id = any ($1) order by id for key share",
        &ids as &[IntegrationId]
    )
    .fetch_all(connection)
    .await?;
    Ok(())
}

impl Prepared {
    pub(crate) async fn store(self, connection: &mut PgConnection, scope: Scope) -> Result<Vec<Restored>> {
        let Self { found, positions } = self;
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let restored = sqlx::query_file_as!(
            Restored,
            "src/store/jobs/requeue/restore.sql",
            &found.iter().map(|one| one.job_id).collect::<Vec<_>>() as &[JobId],
            // Computed, because finished rows have no rank; for a dead letter the result is the rank it had.
            &found.iter().map(|one| rank(&one.job_type, one.priority)).collect::<Vec<_>>(),
            &found.iter().map(|one| one.is_dead).collect::<Vec<_>>(),
            &found.iter().map(|one| one.ended_at).collect::<Vec<_>>() as &[Option<DateTime<Utc>>],
            scope.app_id().map(|id| id.0)
        )
        .fetch_all(&mut *connection)
        .await?;
        let taken_over: Vec<JobId> =
            restored.iter().filter(|one| !one.is_restored).map(|one| one.id).collect();
        let more_urgent: Vec<JobId> =
            restored.iter().filter(|one| one.is_more_urgent).map(|one| one.id).collect();
        if !more_urgent.is_empty() {
            move_up(connection, &more_urgent).await?;
        }
        if !taken_over.is_empty() {
            // Somebody wants this work done now: if the job is parked, it does not wait for its batch.
            park::resume_detached(connection, scope, &taken_over).await?;
        }
        if !positions.is_empty() {
            let live: HashSet<JobId> =
                restored.iter().filter(|one| one.is_restored).map(|one| one.job_id).collect();
            let (taken, unused): (Vec<_>, Vec<_>) =
                positions.into_iter().partition(|one| live.contains(&one.job_id));
            keys::join_queue(connection, taken).await?;
            if !unused.is_empty() {
                // The position was not used: a key without jobs is deleted.
                let (lanes, keys): (Vec<_>, Vec<_>) =
                    unused.into_iter().map(|one| (one.integration_id, one.key)).unzip();
                keys::advance(connection, &lanes, &keys).await?;
            }
        }
        Ok(restored)
    }
}
