//! The lease of the whole process: one row, renewed by one statement on a connection and a thread (`lifeline`)
//! nothing else can keep busy.
//!
//! With each beat it asks which of its jobs were called off: a notification says so at once (`listen`), and may be lost.

use crate::{
    error::QueueError,
    pool::prepare,
    store::{jobs::called_off, workers::stranger},
    worker::{
        clock_skew,
        lease::{Lease, Moment},
        shared::Shared,
    },
};
use chrono::Utc;
use model::id::ClaimBatchId;
use sqlx::{Connection as _, PgConnection};
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Heartbeats missed that end the lease, as everyone else sees it.
const LEASE_BEATS: u32 = 3;
/// A beat has this long at least, while there is any patience left.
const LEAST_PATIENCE: Duration = Duration::from_millis(500);
/// Tries in the time of one beat, once one has failed.
const RETRIES: u32 = 4;
/// Heartbeats missed after which this process stops by itself, before anyone else may take its jobs.
const PATIENT_BEATS: u32 = 2;

/// Beats until told to stop; takes the row away at the end.
pub(super) async fn heartbeat(shared: &Shared, stop: &CancellationToken) {
    let interval = shared.config.heartbeat_interval;
    let mut connection = None;
    let mut beaten_at = Instant::now();
    let mut has_failed = false;
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let is_registered = *shared.is_registered.borrow();
        let lease = shared.lease();
        tokio::select! {
            () = stop.cancelled() => break,
            _ = ticks.tick() => {}
            // Not registered yet: the database is away. Nothing runs, so ask more often.
            () = tokio::time::sleep(Duration::from_millis(500).min(interval)), if !is_registered => {}
            // A connection that broke must not cost a whole beat: with the next one the patience would be over.
            () = tokio::time::sleep(interval / RETRIES), if has_failed => {}
            // Notifications may have been lost: the question that comes with a beat is asked at once.
            () = shared.ask_again.notified(), if is_registered && !has_failed => {}
            // This process slept, and so did the clock of the ticks if the whole machine did.
            () = lease.asked_for.notified(), if is_registered && !has_failed => {}
        }
        let asked_at = Instant::now();
        // A beat that hangs must not outlast the patience: beyond it others take our jobs while we still run them.
        let patience = if is_registered {
            let left = (interval * PATIENT_BEATS).saturating_sub(beaten_at.elapsed()).max(interval / 10);
            // Nor may it use it up: a connection that hangs leaves time for another one.
            left.min((interval / 2).max(LEAST_PATIENCE))
        } else {
            interval.max(Duration::from_secs(1))
        };
        let beaten = tokio::time::timeout(patience, beat(shared, &mut connection)).await;
        has_failed = !matches!(beaten, Ok(Ok(_)));
        match beaten {
            Ok(Ok(true)) => {
                beaten_at = asked_at;
                ask_what_was_called_off(shared, &mut connection, (interval / 2).max(LEAST_PATIENCE)).await;
            }
            Ok(Ok(false)) => {
                // The row was gone or its lease over: swept, or about to be.
                shared.lose_lease();
                connection = None;
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "no heartbeat");
                connection = None;
            }
            Err(_) => {
                tracing::warn!("no heartbeat: the database does not answer");
                connection = None;
            }
        }
        if *shared.is_registered.borrow() && beaten_at.elapsed() >= interval * PATIENT_BEATS {
            shared.lose_lease();
        }
    }
    leave(shared, connection).await;
}

/// One statement; false when the lease is lost. The first one of a lease registers it.
async fn beat(shared: &Shared, connection: &mut Option<PgConnection>) -> Result<bool, QueueError> {
    let mut open = match connection.take() {
        Some(open) => open,
        None => connect(shared).await?,
    };
    let lease = shared.lease();
    let lease_ms = (shared.config.heartbeat_interval * LEASE_BEATS).as_millis() as f64;
    let is_alive = if *shared.is_registered.borrow() {
        renew(&mut open, shared, &lease, lease_ms).await?
    } else {
        register(&mut open, shared, &lease, lease_ms).await?;
        true
    };
    *connection = Some(open);
    Ok(is_alive)
}

/// How long after a heartbeat its answer is relied on: no longer than this process waits for the next. What remains of the lease then is left to
/// what is on its way.
fn relied_on(shared: &Shared) -> Duration {
    shared.config.heartbeat_interval * PATIENT_BEATS
}

async fn connect(shared: &Shared) -> Result<PgConnection, QueueError> {
    let options = shared.pool.connect_options();
    let mut connection = PgConnection::connect_with(&options).await?;
    prepare(&mut connection, Some(Duration::from_secs(5))).await?;
    // A heartbeat forgotten by a crash harms nobody: the process is gone with it, or beats again.
    sqlx::raw_sql("set synchronous_commit = off").execute(&mut connection).await?;
    Ok(connection)
}

async fn register(
    connection: &mut PgConnection,
    shared: &Shared,
    lease: &Lease,
    lease_ms: f64,
) -> Result<(), QueueError> {
    let job_types = shared.handlers.job_types();
    let asked_at = Moment::now();
    // The second part is for people: who started, and whether that version did so for the first time.
    sqlx::query!(
        r#"
        with registered as (
            insert into headgate.workers (id, host, pid, version, slots, lease_until, program, job_types)
            values ($1, $2, $3, $4, $5, clock_timestamp() + $6 * interval '1 millisecond', $7, $8)
            on conflict (id) do update set lease_until = excluded.lease_until
            returning id, host, program, version
        )
        insert into headgate.system_events (id, kind, worker_id, host, program, version)
        select e.id, e.kind, r.id, r.host, r.program, r.version
        from registered r
        cross join (values ($9::uuid, 'version'), ($10::uuid, 'start')) e (id, kind)
        where e.kind = 'start' and not exists (select 1 from headgate.workers w where w.id = r.id)
            or e.kind = 'version' and not exists (
                select 1 from headgate.system_events s
                where s.kind = 'version' and s.version = r.version and s.program is not distinct from r.program
            )
        "#,
        lease.worker_id.0,
        gethostname::gethostname().to_string_lossy().into_owned(),
        i32::try_from(std::process::id()).unwrap_or(0),
        env!("CARGO_PKG_VERSION"),
        i32::try_from(shared.config.workers).unwrap_or(i32::MAX),
        lease_ms,
        shared.handlers.program_name(),
        job_types.as_deref() as Option<&[String]>,
        Uuid::now_v7(),
        Uuid::now_v7(),
    )
    .execute(&mut *connection)
    .await?;
    shared.set_draining(false);
    lease.grant(asked_at, relied_on(shared));
    shared.is_registered.send_replace(true);
    tracing::info!(worker.id = %lease.worker_id, "worker {} is registered", lease.worker_id);
    warn_of_strangers(connection, shared, lease).await;
    Ok(())
}

/// Two programs that go by one name take each other's jobs, and give them back: nothing else says why those are late.
async fn warn_of_strangers(connection: &mut PgConnection, shared: &Shared, lease: &Lease) {
    let (Some(program), Some(own)) = (shared.handlers.program_name(), shared.handlers.job_types()) else {
        return;
    };
    match stranger(connection, lease.worker_id, program, &own).await {
        Ok(Some(other)) => tracing::warn!(
            worker.id = %lease.worker_id,
            program,
            "process {} on {} is of the program {program} too and does other jobs ({}; this one: {}): each takes the other's jobs and gives \
             them back. If they are two programs, give one of them a name, Runner::program, and open its clients with Client::open_for; while \
             a new version is rolled out this passes",
            other.pid,
            other.host,
            other.job_types.join(", "),
            own.join(", "),
        ),
        Ok(None) => {}
        Err(error) => {
            tracing::debug!(%error, "whether other programs have this one's name was not to be seen");
        }
    }
}

async fn renew(
    connection: &mut PgConnection,
    shared: &Shared,
    lease: &Lease,
    lease_ms: f64,
) -> Result<bool, QueueError> {
    let done: Vec<ClaimBatchId> = shared.done_batches();
    let (asked_at, host_at) = (Moment::now(), Utc::now());
    let row = sqlx::query!(
        r#"
        with forgotten as (
            delete from headgate.claim_batches where id = any ($4)
        )
        update headgate.workers
        set lease_until = clock_timestamp() + $2 * interval '1 millisecond', heartbeat_at = clock_timestamp(), busy = $3
        where id = $1 and lease_until > clock_timestamp()
        returning is_draining, clock_timestamp() as "now!"
        "#,
        lease.worker_id.0,
        lease_ms,
        i32::try_from(shared.running()).unwrap_or(i32::MAX),
        &done as &[ClaimBatchId],
    )
    .fetch_optional(connection)
    .await?;
    shared.forget_batches(&done);
    if let Some(row) = &row {
        lease.grant(asked_at, relied_on(shared));
        shared.set_draining(row.is_draining);
        clock_skew::note(shared, host_at, row.now);
    }
    Ok(row.is_some())
}

/// Tells the attempts whose jobs were called off. The lease is renewed by then: a question without an answer costs nothing but the time until
/// the next beat.
async fn ask_what_was_called_off(shared: &Shared, connection: &mut Option<PgConnection>, patience: Duration) {
    let held = shared.attempts.held();
    if held.is_empty() {
        return;
    }
    let Some(mut open) = connection.take() else { return };
    match tokio::time::timeout(patience, called_off(&mut open, &held)).await {
        Ok(Ok(found)) => {
            *connection = Some(open);
            shared.attempts.call_off(found);
        }
        Ok(Err(error)) => {
            tracing::warn!(%error, "which jobs were called off is asked with the next heartbeat");
        }
        Err(_) => tracing::warn!(
            "which jobs were called off is asked with the next heartbeat: the database does not answer"
        ),
    }
}

/// The last word of a process that stops in order. Batches with unrecorded jobs stay: the sweep reads them at once, because the row
/// of their worker is gone.
async fn leave(shared: &Shared, connection: Option<PgConnection>) {
    let farewell = async {
        if let Some(used) = connection {
            match sign_off(shared, used).await {
                Ok(()) => return Ok(()),
                // It may have broken since the last beat, and no beat follows that would notice.
                Err(error) => tracing::debug!(%error, "the worker signs off once more, on a new connection"),
            }
        }
        sign_off(shared, connect(shared).await?).await
    };
    match tokio::time::timeout(Duration::from_secs(3), farewell).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "the worker could not sign off; its lease runs out"),
        Err(_) => tracing::warn!("the worker could not sign off in time; its lease runs out"),
    }
}

async fn sign_off(shared: &Shared, mut connection: PgConnection) -> Result<(), QueueError> {
    let done: Vec<ClaimBatchId> = shared.done_batches();
    sqlx::query!(
        r#"
        with forgotten as (
            delete from headgate.claim_batches where id = any ($2)
        )
        delete from headgate.workers where id = $1
        "#,
        shared.lease().worker_id.0,
        &done as &[ClaimBatchId],
    )
    .execute(&mut connection)
    .await?;
    // Signed off it is: how the connection ends changes nothing.
    let _ = connection.close().await;
    Ok(())
}
