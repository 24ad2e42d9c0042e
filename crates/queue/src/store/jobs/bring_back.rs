//! Bringing dead letters and jobs that were called off back, set by set: one job is a set of one.

use super::{enqueue::move_up, hold, keys};
use crate::error::QueueError;
use chrono::{DateTime, Utc};
use model::{
    actor::Scope,
    id::{DeadLetterId, IntegrationId, JobId},
    job::rank,
};
use sqlx::PgConnection;
use std::collections::HashSet;

/// What is to come back.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Which<'a> {
    /// Dead letters and jobs that were called off, by the job's id.
    Jobs(&'a [JobId]),
    /// Dead letters, by their own.
    DeadLetters(&'a [DeadLetterId]),
}

/// One that came back, or whose work a live job took over.
pub(crate) struct Back {
    /// The job that does the work now.
    pub(crate) id: JobId,
    /// The one that was asked for.
    pub(crate) job_id: JobId,
    /// As a row, or behind the one that is being processed.
    is_back: bool,
    /// The job that took it over has to stand further ahead now.
    is_more_urgent: bool,
}

/// Brings them back; those that are no more where they could come back from are not among the answers. Run it in a transaction.
///
/// # Errors
/// When the database is away, or lost a race: nothing is changed, repeat.
pub(crate) async fn bring_back(
    connection: &mut PgConnection,
    scope: Scope,
    which: Which<'_>,
) -> Result<Vec<Back>, QueueError> {
    let prepared = prepare(connection, scope, which).await?;
    prepared.store(connection, scope).await
}

/// Found, their integrations and keys held: the locks that come before any job's.
pub(super) struct Prepared {
    found: Vec<Found>,
    places: Vec<keys::Place>,
}

struct Found {
    job_id: JobId,
    is_dead: bool,
    /// When a finished row came to its end.
    ended_at: Option<DateTime<Utc>>,
    integration_id: IntegrationId,
    serialize_key: Option<String>,
    job_type: String,
    priority: i16,
}

pub(super) async fn prepare(
    connection: &mut PgConnection,
    scope: Scope,
    which: Which<'_>,
) -> Result<Prepared, QueueError> {
    let (jobs, dead_letters) = match which {
        Which::Jobs(ids) => (ids, &[][..]),
        Which::DeadLetters(ids) => (&[][..], ids),
    };
    // What follows in this transaction is planned for the tables as they are, not as they were when the plan was kept.
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
    hold_integrations(connection, &found).await?;
    let mut keyed: Vec<keys::Keyed<'_>> = found
        .iter()
        .filter_map(|one| {
            let key = one.serialize_key.as_deref()?;
            Some(keys::Keyed { integration_id: one.integration_id, key, job_id: one.job_id })
        })
        .collect();
    // Those of one key come back at the end of its line, in the order in which they were accepted.
    keyed.sort_by_key(|one| one.job_id);
    let places = keys::take_places(connection, &keyed).await?;
    Ok(Prepared { found, places })
}

/// Keeps integrations from being deleted until we commit: what came back would belong to nobody. One that is gone already has no
/// lane, and the statement brings nothing back.
async fn hold_integrations(connection: &mut PgConnection, found: &[Found]) -> Result<(), QueueError> {
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
    pub(super) async fn store(
        self,
        connection: &mut PgConnection,
        scope: Scope,
    ) -> Result<Vec<Back>, QueueError> {
        let Self { found, places } = self;
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let back = sqlx::query_file_as!(
            Back,
            "src/store/jobs/bring_back.sql",
            &found.iter().map(|one| one.job_id).collect::<Vec<_>>() as &[JobId],
            // Finished rows have no rank; of a dead letter this is the one it had.
            &found.iter().map(|one| rank(&one.job_type, one.priority)).collect::<Vec<_>>(),
            &found.iter().map(|one| one.is_dead).collect::<Vec<_>>(),
            &found.iter().map(|one| one.ended_at).collect::<Vec<_>>() as &[Option<DateTime<Utc>>],
            scope.app_id().map(|id| id.0)
        )
        .fetch_all(&mut *connection)
        .await?;
        let taken_over: Vec<JobId> = back.iter().filter(|one| !one.is_back).map(|one| one.id).collect();
        let more_urgent: Vec<JobId> =
            back.iter().filter(|one| one.is_more_urgent).map(|one| one.id).collect();
        if !more_urgent.is_empty() {
            move_up(connection, &more_urgent).await?;
        }
        if !taken_over.is_empty() {
            // Someone wants it now.
            hold::let_go_alone(connection, scope, &taken_over).await?;
        }
        if !places.is_empty() {
            let is_back: HashSet<JobId> =
                back.iter().filter(|one| one.is_back).map(|one| one.job_id).collect();
            let (taken, unused): (Vec<_>, Vec<_>) =
                places.into_iter().partition(|place| is_back.contains(&place.job_id));
            keys::line_up(connection, taken).await?;
            if !unused.is_empty() {
                // Nobody took the place: a key with nobody in line is forgotten.
                let (lanes, keys): (Vec<_>, Vec<_>) =
                    unused.into_iter().map(|place| (place.integration_id, place.key)).unzip();
                keys::advance(connection, &lanes, &keys).await?;
            }
        }
        Ok(back)
    }
}
