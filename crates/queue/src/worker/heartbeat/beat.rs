//! The lease of the whole process: one row, renewed by one statement on a connection and a thread (`lease_thread`) that nothing else can keep busy.
//!
//! With each heartbeat it reads the cancel requests of its jobs: their notifications come at once (`listen`), but may be lost.

use crate::{
    error::QueueError,
    pool::prepare,
    store::{jobs::assignments_to_stop, workers::name_clash},
    worker::{
        heartbeat::clock_skew,
        lease::validity::{Lease, Moment},
        state::shared::Shared,
    },
};
use chrono::Utc;
use model::id::ClaimBatchId;
use sqlx::{Connection as _, PgConnection};
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Missed heartbeats after which the lease ends for everyone else.
const LEASE_HEARTBEATS: u32 = 3;
/// Shortest time-out of a heartbeat, while there is time left before the lease must be given up.
const MIN_TIMEOUT: Duration = Duration::from_millis(500);
/// Tries within one interval, once a heartbeat has failed.
const TRIES_PER_INTERVAL: u32 = 4;
/// Missed heartbeats after which this process stops its jobs by itself, before others may recover them.
const MAX_MISSED: u32 = 2;

/// Sends heartbeats until `stop`; then deletes the row.
pub(crate) async fn heartbeat(shared: &Shared, stop: &CancellationToken) {
    let interval = shared.config.heartbeat_interval;
    let mut connection = None;
    let mut renewed_at = Instant::now();
    let mut has_failed = false;
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let is_registered = *shared.is_registered.borrow();
        let lease = shared.lease();
        tokio::select! {
            () = stop.cancelled() => break,
            _ = ticks.tick() => {}
            // Not registered yet, because the database is away. Nothing runs, so try more often.
            () = tokio::time::sleep(Duration::from_millis(500).min(interval)), if !is_registered => {}
            // A broken connection must not cost a whole interval: at the end of the next one the lease would be given up.
            () = tokio::time::sleep(interval / TRIES_PER_INTERVAL), if has_failed => {}
            // Notifications of cancel requests may have been lost: read them now.
            () = shared.recheck_cancels.notified(), if is_registered && !has_failed => {}
            // This process was suspended; if the whole machine was, so was the clock of the ticks.
            () = lease.heartbeat_wanted.notified(), if is_registered && !has_failed => {}
        }
        let asked_at = Instant::now();
        // A heartbeat that hangs must end before others take our jobs while we still run them.
        let time_out = if is_registered {
            let left = (interval * MAX_MISSED).saturating_sub(renewed_at.elapsed()).max(interval / 10);
            // It may not use up all that time: after a connection that hangs there must be time for another one.
            left.min((interval / 2).max(MIN_TIMEOUT))
        } else {
            interval.max(Duration::from_secs(1))
        };
        let renewed = tokio::time::timeout(time_out, beat(shared, &mut connection)).await;
        has_failed = !matches!(renewed, Ok(Ok(_)));
        match renewed {
            Ok(Ok(true)) => {
                renewed_at = asked_at;
                pass_on_cancel_requests(shared, &mut connection, (interval / 2).max(MIN_TIMEOUT)).await;
            }
            Ok(Ok(false)) => {
                // The row is gone or its lease has run out: recovered, or about to be.
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
        if *shared.is_registered.borrow() && renewed_at.elapsed() >= interval * MAX_MISSED {
            shared.lose_lease();
        }
    }
    end_lease(shared, connection).await;
}

/// Executes one statement; false when the lease is lost. The first heartbeat of a lease registers it.
async fn beat(shared: &Shared, connection: &mut Option<PgConnection>) -> Result<bool, QueueError> {
    let mut open = match connection.take() {
        Some(open) => open,
        None => connect(shared).await?,
    };
    let lease = shared.lease();
    let lease_ms = (shared.config.heartbeat_interval * LEASE_HEARTBEATS).as_millis() as f64;
    let is_alive = if *shared.is_registered.borrow() {
        renew(&mut open, shared, &lease, lease_ms).await?
    } else {
        register(&mut open, shared, &lease, lease_ms).await?;
        true
    };
    *connection = Some(open);
    Ok(is_alive)
}

/// How long the process relies on a heartbeat: no longer than it waits for the next. The rest of the lease is left for requests on their way.
fn reliance(shared: &Shared) -> Duration {
    shared.config.heartbeat_interval * MAX_MISSED
}

async fn connect(shared: &Shared) -> Result<PgConnection, QueueError> {
    let options = shared.pool.connect_options();
    let mut connection = PgConnection::connect_with(&options).await?;
    prepare(&mut connection, Some(Duration::from_secs(5))).await?;
    // A heartbeat that a crash of the database forgets does no harm: the next one follows.
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
    // The second part is for people: which process started, and whether its version started for the first time.
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
    lease.grant(asked_at, reliance(shared));
    shared.is_registered.send_replace(true);
    tracing::info!(worker.id = %lease.worker_id, "worker {} is registered", lease.worker_id);
    warn_of_namesake(connection, shared, lease).await;
    Ok(())
}

/// Two programs of the same name claim and release each other's jobs: nothing else would say why those are late.
async fn warn_of_namesake(connection: &mut PgConnection, shared: &Shared, lease: &Lease) {
    let (Some(program), Some(own)) = (shared.handlers.program_name(), shared.handlers.job_types()) else {
        return;
    };
    match name_clash(connection, lease.worker_id, program, &own).await {
        Ok(Some(other)) => tracing::warn!(
            worker.id = %lease.worker_id,
            program,
            "process {} on {} also belongs to the program {program} but does other kinds of jobs ({}; this one: {}): each claims and releases the \
             other's jobs. If they are two programs, name one of them with Runner::program and open its clients with Client::open_for; during the \
             rollout of a new version this is temporary",
            other.pid,
            other.host,
            other.job_types.join(", "),
            own.join(", "),
        ),
        Ok(None) => {}
        Err(error) => {
            tracing::debug!(%error, "could not check whether another program has the same name");
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
        lease.grant(asked_at, reliance(shared));
        shared.set_draining(row.is_draining);
        clock_skew::note(shared, host_at, row.now);
    }
    Ok(row.is_some())
}

/// Passes cancel requests on to the attempts. The lease is already renewed, so a query without an answer only delays them until the next heartbeat.
async fn pass_on_cancel_requests(shared: &Shared, connection: &mut Option<PgConnection>, time_out: Duration) {
    let running = shared.attempts.unfinished();
    if running.is_empty() {
        return;
    }
    let Some(mut open) = connection.take() else { return };
    match tokio::time::timeout(time_out, assignments_to_stop(&mut open, &running)).await {
        Ok(Ok(found)) => {
            *connection = Some(open);
            shared.attempts.request_cancel(found);
        }
        Ok(Err(error)) => {
            tracing::warn!(%error, "cancel requests could not be read: tried again with the next heartbeat");
        }
        Err(_) => tracing::warn!(
            "cancel requests could not be read, the database does not answer: tried again with the next heartbeat"
        ),
    }
}

/// Signs off a process that stops in order. Claim batches with unrecorded jobs stay: lease recovery reads them at once, because the row of their
/// worker is gone.
async fn end_lease(shared: &Shared, connection: Option<PgConnection>) {
    let signing_off = async {
        if let Some(used) = connection {
            match sign_off(shared, used).await {
                Ok(()) => return Ok(()),
                // The connection may have broken since the last heartbeat.
                Err(error) => tracing::debug!(%error, "the worker signs off again, on a new connection"),
            }
        }
        sign_off(shared, connect(shared).await?).await
    };
    match tokio::time::timeout(Duration::from_secs(3), signing_off).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "the worker could not sign off: its lease will run out"),
        Err(_) => tracing::warn!("the worker could not sign off in time: its lease will run out"),
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
    // The worker is signed off, however the connection ends.
    let _ = connection.close().await;
    Ok(())
}
