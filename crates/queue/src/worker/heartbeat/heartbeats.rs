//! The lease of the whole process: one row, renewed by one statement on a connection and a thread (`lease_thread`) that nothing else can keep busy.
//!
//! With each heartbeat it reads the cancel requests of its jobs: their notifications come at once (`listen`), but may be lost.

use crate::error::{Result, within};
use crate::pool::connect_alone;
use crate::store::jobs::assignments_to_stop;
use crate::store::worker_lease::{self, Registration};
use crate::store::workers::name_clash;
use crate::worker::handler::Handlers;
use crate::worker::heartbeat::clock_skew;
use crate::worker::lease::{Lease, Moment, ProcessLease};
use crate::worker::run::Attempts;
use crate::worker::state::{ClaimBatches, Meters, RunningJobs};
use chrono::Utc;
use sqlx::{Connection as _, PgConnection, PgPool};
use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

/// Missed heartbeats after which the lease ends for everyone else.
const LEASE_HEARTBEATS: u32 = 3;
/// Shortest time-out of a heartbeat, while there is time left before the lease must be given up.
const MIN_TIMEOUT: Duration = Duration::from_millis(500);
/// Tries within one interval, once a heartbeat has failed.
const TRIES_PER_INTERVAL: u32 = 4;
/// Missed heartbeats after which this process stops its jobs by itself, before others may recover them.
const MAX_MISSED: u32 = 2;
/// A step that takes this much longer than it may shows that the process was paused meanwhile.
const MIN_PAUSE: Duration = Duration::from_secs(1);

/// Keeps the lease of this process.
pub(crate) struct Heartbeats {
    /// Its connect options are used, for a connection of its own.
    pub(crate) pool: PgPool,
    pub(crate) interval: Duration,
    /// Shown to people, as are the program and the job types of the handlers.
    pub(crate) workers: usize,
    pub(crate) handlers: Handlers,
    pub(crate) lease: Arc<ProcessLease>,
    pub(crate) running: Arc<RunningJobs>,
    pub(crate) batches: Arc<ClaimBatches>,
    pub(crate) attempts: Arc<Attempts>,
    pub(crate) meters: Arc<Meters>,
}

impl Heartbeats {
    /// Sends heartbeats until `stop`; then deletes the row.
    pub(crate) async fn beat_until(&self, stop: &CancellationToken) {
        let interval = self.interval;
        let mut connection = None;
        let mut renewed_at = Instant::now();
        // Since the last heartbeat that was answered.
        let mut failures = 0_u32;
        let mut ticks = tokio::time::interval(interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let is_registered = self.lease.is_registered();
            let lease = self.lease.current();
            let (has_failed, waits_since) = (failures > 0, Moment::now());
            tokio::select! {
                () = stop.cancelled() => break,
                _ = ticks.tick() => {}
                // Not registered yet, because the database is away. Nothing runs, so try more often.
                () = tokio::time::sleep(Duration::from_millis(500).min(interval)), if !is_registered => {}
                // A broken connection must not cost a whole interval: at the end of the next one the lease would be given up.
                () = tokio::time::sleep(interval / TRIES_PER_INTERVAL), if has_failed => {}
                // Notifications of cancel requests may have been lost: read them now.
                () = self.lease.cancels_to_recheck(), if is_registered && !has_failed => {}
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
            let (waited, beats_since) = (waits_since.elapsed(), Moment::now());
            let renewed = within(time_out, self.beat(&mut connection)).await;
            let paused = pause(waited, interval).max(pause(beats_since.elapsed(), time_out));
            if let Some(pause) = paused {
                tracing::warn!(
                    duration_ms = pause.as_millis(),
                    "this process did not run for {} s (it was stopped, or its machine was suspended or overloaded): its heartbeat is late",
                    pause.as_secs()
                );
            }
            match renewed {
                Ok(true) => {
                    if failures > 0 {
                        tracing::info!(failures, "heartbeats are answered again");
                    }
                    failures = 0;
                    renewed_at = asked_at;
                    self.pass_on_cancel_requests(&mut connection, (interval / 2).max(MIN_TIMEOUT)).await;
                }
                Ok(false) => {
                    failures = 0;
                    // The row is gone or its lease has run out: recovered, or about to be.
                    self.lease.lose();
                    connection = None;
                }
                Err(error) => {
                    connection = None;
                    failures += 1;
                    // After a pause it is not the database's fault. One line for the first failure in a row, and then ever fewer.
                    if paused.is_none() && failures.is_power_of_two() {
                        tracing::warn!(failures, error = %error.with_causes(), "no heartbeat");
                    }
                }
            }
            if self.lease.is_registered() && renewed_at.elapsed() >= interval * MAX_MISSED {
                self.lease.lose();
            }
        }
        self.end_lease(connection).await;
    }

    /// Executes one statement; false when the lease is lost. The first heartbeat of a lease registers it.
    async fn beat(&self, connection: &mut Option<PgConnection>) -> Result<bool> {
        let mut open = match connection.take() {
            Some(open) => open,
            None => self.connect().await?,
        };
        let lease = self.lease.current();
        let lease_ms = (self.interval * LEASE_HEARTBEATS).as_millis() as f64;
        let is_alive = if self.lease.is_registered() {
            self.renew(&mut open, &lease, lease_ms).await?
        } else {
            self.register(&mut open, &lease, lease_ms).await?;
            true
        };
        *connection = Some(open);
        Ok(is_alive)
    }

    /// How long the process relies on a heartbeat: no longer than it waits for the next. The rest of the lease is left for requests on their way.
    fn reliance(&self) -> Duration {
        self.interval * MAX_MISSED
    }

    async fn connect(&self) -> Result<PgConnection> {
        let mut connection = connect_alone(&self.pool, Some(Duration::from_secs(5))).await?;
        // A heartbeat that a crash of the database forgets does no harm: the next one follows.
        sqlx::raw_sql("set synchronous_commit = off").execute(&mut connection).await?;
        Ok(connection)
    }

    async fn register(&self, connection: &mut PgConnection, lease: &Lease, lease_ms: f64) -> Result<()> {
        let job_types = self.handlers.job_types();
        let is_start = self.lease.lost_count() == 0;
        let asked_at = Moment::now();
        let process = Registration {
            worker_id: lease.worker_id,
            lease_ms,
            slots: self.workers,
            program: self.handlers.program_name(),
            job_types: job_types.as_deref(),
            is_start,
        };
        worker_lease::register(connection, process).await?;
        self.lease.set_draining(false);
        lease.grant(asked_at, self.reliance());
        self.lease.set_registered();
        let id = lease.worker_id;
        if is_start {
            tracing::info!(worker.id = %id, "worker {id} is registered");
        } else {
            tracing::info!(worker.id = %id, "this process, which lost its lease, has a new one: it goes on as worker {id}");
        }
        self.warn_of_namesake(connection, lease).await;
        Ok(())
    }

    /// Two programs of the same name claim and release each other's jobs: nothing else would say why those are late.
    async fn warn_of_namesake(&self, connection: &mut PgConnection, lease: &Lease) {
        let (Some(program), Some(own)) = (self.handlers.program_name(), self.handlers.job_types()) else {
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
                tracing::debug!(error = %error.with_causes(), "could not check whether another program has the same name");
            }
        }
    }

    async fn renew(&self, connection: &mut PgConnection, lease: &Lease, lease_ms: f64) -> Result<bool> {
        let done = self.batches.done();
        let (asked_at, host_at) = (Moment::now(), Utc::now());
        let busy = self.running.count();
        let renewed = worker_lease::renew(connection, lease.worker_id, lease_ms, busy, &done).await?;
        self.batches.forget(&done);
        if let Some(row) = &renewed {
            lease.grant(asked_at, self.reliance());
            self.lease.set_draining(row.is_draining);
            clock_skew::note(&self.meters, host_at, row.now);
        }
        Ok(renewed.is_some())
    }

    /// Passes cancel requests on to the attempts. The lease is already renewed, so a query without an answer only delays them until the next heartbeat.
    async fn pass_on_cancel_requests(&self, connection: &mut Option<PgConnection>, time_out: Duration) {
        let running = self.attempts.unfinished();
        if running.is_empty() {
            return;
        }
        let Some(mut open) = connection.take() else { return };
        match tokio::time::timeout(time_out, assignments_to_stop(&mut open, &running)).await {
            Ok(Ok(found)) => {
                *connection = Some(open);
                self.attempts.request_cancel(found);
            }
            Ok(Err(error)) => {
                tracing::warn!(
                    error = %error.with_causes(),
                    "cancel requests could not be read: tried again with the next heartbeat"
                );
            }
            Err(_) => tracing::warn!(
                "cancel requests could not be read, the database does not answer: tried again with the next heartbeat"
            ),
        }
    }

    /// Signs off a process that stops in order. Claim batches with unrecorded jobs stay: lease recovery reads them at once, because the row of their
    /// worker is gone.
    async fn end_lease(&self, connection: Option<PgConnection>) {
        let signing_off = async {
            if let Some(used) = connection {
                match self.sign_off(used).await {
                    Ok(()) => return Ok(()),
                    // The connection may have broken since the last heartbeat.
                    Err(error) => tracing::debug!(%error, "the worker signs off again, on a new connection"),
                }
            }
            self.sign_off(self.connect().await?).await
        };
        match tokio::time::timeout(Duration::from_secs(3), signing_off).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(
                error = %error.with_causes(),
                "the worker could not sign off: its lease will run out"
            ),
            Err(_) => tracing::warn!("the worker could not sign off in time: its lease will run out"),
        }
    }

    async fn sign_off(&self, mut connection: PgConnection) -> Result<()> {
        let worker_id = self.lease.current().worker_id;
        worker_lease::sign_off(&mut connection, worker_id, &self.batches.done()).await?;
        // The worker is signed off, however the connection ends.
        let _ = connection.close().await;
        Ok(())
    }
}

/// How long this process did not run during a step that took so long and may take `longest`; none: not long enough to tell.
fn pause(took: Duration, longest: Duration) -> Option<Duration> {
    took.checked_sub(longest).filter(|beyond| *beyond >= MIN_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_takes_much_longer_than_it_may_shows_a_pause() {
        let seconds = Duration::from_secs_f64;
        for (took, longest, paused) in
            [(0.1, 10.0, None), (10.9, 10.0, None), (11.0, 10.0, Some(1.0)), (70.0, 5.0, Some(65.0))]
        {
            assert_eq!(pause(seconds(took), seconds(longest)), paused.map(seconds), "{took}");
        }
    }
}
