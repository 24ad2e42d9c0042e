//! Why a job is not running: reads the state that `model::rules::explain` judges.

use chrono::{DateTime, Utc};
use model::actor::Scope;
use model::breaker::Breaker;
use model::id::{JobId, ResyncId};
use model::rules::explain::{Explanation, Gates, MAX_AHEAD, explain as judge};
use queue::{error::QueueError, store::jobs::find};
use sqlx::PgPool;

/// Without bitmap scans: jobs that go first are counted in the order of the index and only up to a limit, and a bitmap scan reads all of them
/// before the limit applies.
const BEGIN: &str = "begin read only; set local enable_bitmapscan = off";

/// Why the job is not running, or when it will.
///
/// # Errors
/// [`QueueError::NotFound`] when there is none in scope.
pub async fn explain(pool: &PgPool, scope: Scope, id: JobId) -> Result<Explanation, QueueError> {
    let mut transaction = pool.begin_with(BEGIN).await?;
    let job = find(&mut transaction, scope, id).await?.ok_or(QueueError::NotFound)?;
    let row = sqlx::query!(
        r#"
        select clock_timestamp() as "now!", i.state as "state?", coalesce(l.is_external, false) as "is_external!", i.state_reason as "state_reason?", l.quiet_until as "quiet_until?",
            coalesce(l.max_concurrency, 0)::bigint as "max_concurrency!",
            (select max(greatest(r.tat_us, r.quiet_until_us)) from headgate.rate_limits r where r.key = any (l.limit_keys)) as next_slot_us,
            coalesce((select p.n from headgate.processing_counts p where p.integration_id = $1), 0) as "processing!",
            case
                -- Only external workers take these, and they register nowhere: jobs being processed are the only sign that there is one.
                when l.is_external then coalesce((select p.n from headgate.processing_counts p where p.integration_id = $1), 0)
                else (select count(*) from headgate.workers w where w.lease_until > clock_timestamp() and not w.is_draining
                    and w.slots > 0 and w.program is not distinct from l.served_by and (w.job_types is null or $4 = any (w.job_types)))
            end as "workers!",
            l.served_by as "program?",
            (
                select count(*) from (
                    select 1 from headgate.serialized_jobs a
                    join headgate.serialized_jobs b on b.integration_id = a.integration_id and b.key = a.key and b.seq < a.seq
                    where a.job_id = $2 limit $3
                ) before
            ) as "ahead_of_key!",
            (
                select count(*) from (
                    select 1 from headgate.jobs j
                    cross join lateral (
                        select from headgate.ready r
                        where r.integration_id = j.integration_id and (r.rank, r.created_at, r.job_id) < (j.rank, j.created_at, j.id)
                        order by r.integration_id, r.rank, r.created_at, r.job_id limit $3
                    ) r
                    where j.id = $2
                ) before
            -- The job whose successor it is.
            ) + (select count(*) from headgate.jobs j where (j.successor ->> 'id')::uuid = $2) as "ahead!",
            (
                select r.id from headgate.jobs j join headgate.resyncs r on r.batch_id = j.batch_id
                where j.id = $2 and j.is_parked
            ) as "paused_resync: ResyncId",
            exists (
                select from headgate.jobs j left join headgate.workers w on w.id = j.worker_id
                -- An external worker has a lease for each job, a process of ours one for all. Lease recovery covers both.
                where j.id = $2 and j.status = 1 and coalesce(j.lease_until, w.lease_until, '-infinity') <= clock_timestamp()
            ) as "is_lost!",
            (select w.due_at from headgate.waiting w where w.job_id = $2) as due_at,
            exists (select from headgate.unqueued_jobs u where u.id = $2) as "is_unqueued!",
            coalesce(b.state, 'closed') as "breaker_state!", b.probe_at as "probe_at?", b.at_once as "at_once?", b.reason as "breaker_reason?"
        from (select 1) one
        left join headgate.integrations i on i.id = $1
        left join headgate.lanes l on l.integration_id = i.id
        left join headgate.breakers b on b.integration_id = i.id
        "#,
        job.integration_id.0,
        id.0,
        MAX_AHEAD,
        job.job_type,
    )
    .fetch_one(&mut *transaction)
    .await?;
    transaction.rollback().await?;
    // A limit or a failure may have put it off.
    let not_before = |at: DateTime<Utc>| row.due_at.map_or(at, |due_at| at.max(due_at));
    let gates = Gates {
        status: job.status,
        cancel_requested_at: job.cancel_requested_at,
        paused: (row.state.as_deref() == Some("paused")).then_some(row.state_reason),
        paused_resync: row.paused_resync,
        is_disabled: row.state.as_deref() == Some("disabled"),
        breaker: Breaker {
            state: row.breaker_state.parse().unwrap_or_default(),
            probe_at: row.probe_at,
            at_once: row.at_once,
            reason: row.breaker_reason,
            ..Breaker::default()
        },
        run_at: if job.retry_at.is_some() { job.run_at } else { not_before(job.run_at) },
        gathers_until: job.gathers_until,
        retry_at: job.retry_at.map(not_before),
        ahead_of_key: row.ahead_of_key,
        quiet_until: row.quiet_until,
        next_slot_at: row.next_slot_us.and_then(DateTime::from_timestamp_micros),
        processing: row.processing,
        max_concurrency: row.max_concurrency,
        is_external: row.is_external,
        workers: row.workers,
        program: row.program,
        // A job that is parked, or waits for its key, has no entry in the queue.
        ahead: if row.paused_resync.is_some() || row.ahead_of_key > 0 { 0 } else { row.ahead },
        is_lost: row.is_lost,
        is_unqueued: row.is_unqueued,
    };
    Ok(judge(&gates, row.now))
}
