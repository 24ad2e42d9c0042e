//! Reserves send times: one limiter per process reserves slots in the database for all waiting jobs of a lane at once.
//!
//! The database gives slots at least one emission apart, over all processes (function `reserve_slots`). A job sleeps until its slot on this process's
//! monotonic clock ([`DatabaseClock`]). Two rules keep the requests within the limit: a slot is never used early, and a late one never
//! bunches with those behind it. If this is the only process, it waits until the window has room ([`RecentSends`]); if there are several, a slot that
//! would be used too late is dropped and another is reserved. Unused slots are lost; under-use is safe.

use crate::error::{QueueError, within};
use crate::mutex::lock;
use crate::store::lanes;
use crate::worker::limit::database_clock::DatabaseClock;
use crate::worker::limit::recent_sends::{Limit, RecentSends};
use crate::worker::limit::{AT_ONCE, Slot};
use chrono::{DateTime, Utc};
use model::{id::IntegrationId, rate_limit::RateLimit};
use sqlx::PgPool;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

/// A job whose slot would be further ahead is released instead, which frees a worker for another one.
const HORIZON: Duration = Duration::from_millis(500);
/// A job released for lack of a slot is claimable again after at most this: the claim itself passes over a lane without slots, and a limit that is
/// raised meanwhile must not wait for the old one.
const MAX_RELEASE: Duration = Duration::from_millis(250);
/// How long a job waits at its slot for room in the windows: longer than a late request delays it in a window of a second, and short against windows of
/// minutes and days, which may stay full for hours after a limit was lowered.
const ROOM_TIMEOUT: Duration = Duration::from_millis(1_500);
/// A job released because a window is full is claimable again after at most this.
const MAX_FULL_RELEASE: Duration = Duration::from_secs(1);
/// Most slots of one reservation.
const MAX_SLOTS: usize = 200;
/// After this nothing is granted.
const RESERVE_TIMEOUT: Duration = Duration::from_secs(3);
/// Writing an integration's quiet time to the database must not take for ever: this process keeps it in memory anyway.
const QUIET_WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// What a waiting job gets.
enum Grant {
    /// Sleep to `due`; not after `latest`.
    At {
        due: Instant,
        latest: Option<Instant>,
        limits: Arc<[Limit]>,
    },
    Later(DateTime<Utc>),
}

/// How a slot is used.
enum SlotUse {
    Send,
    /// It may not be used any more: another is reserved.
    Missed,
    /// A window has no room for long, because its limit was lowered: the slot is lost, and its job is released.
    Full {
        until: Instant,
    },
}

#[derive(Default)]
struct Lane {
    waiting: Vec<oneshot::Sender<Grant>>,
    is_served: bool,
    /// Until when nothing is sent after a 429; other processes read it from the database.
    quiet_until: Option<Instant>,
}

/// Reserves send times for the jobs of one process.
pub(crate) struct Limiter {
    pool: PgPool,
    lanes: Mutex<HashMap<IntegrationId, Lane>>,
    clock: Mutex<Option<DatabaseClock>>,
    sends: RecentSends,
    closed: CancellationToken,
}

impl Limiter {
    pub(crate) fn new(pool: PgPool) -> Self {
        Self {
            pool,
            lanes: Mutex::default(),
            clock: Mutex::default(),
            sends: RecentSends::default(),
            closed: CancellationToken::new(),
        }
    }

    /// Releases every job that waits now or later.
    pub(crate) fn close(&self) {
        self.closed.cancel();
    }

    pub(crate) async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// Makes the integration quiet: no process sends anything to it for this long.
    pub(crate) async fn make_quiet(&self, integration_id: IntegrationId, quiet: Duration) {
        self.set_quiet(integration_id, quiet);
        let write = async {
            let mut transaction = self.pool.begin().await?;
            lanes::set_quiet(&mut transaction, integration_id, quiet).await?;
            transaction.commit().await.map_err(QueueError::from)
        };
        if let Err(error) = within(QUIET_WRITE_TIMEOUT, write).await {
            tracing::warn!(integration.id = %integration_id, error = %error.with_causes(), "integration {integration_id} is quiet in this process only");
        }
    }

    /// Sends nothing to this integration for this long, not even a job whose slot is already reserved.
    fn set_quiet(&self, integration_id: IntegrationId, quiet: Duration) {
        let until = Instant::now() + quiet;
        let mut lanes = lock(&self.lanes);
        let lane = lanes.entry(integration_id).or_default();
        lane.quiet_until = lane.quiet_until.max(Some(until));
    }

    /// The best known proof of the database's time, including the new one.
    fn learn(&self, proof: DatabaseClock) -> DatabaseClock {
        let mut known = lock(&self.clock);
        let clock = known.map_or(proof, |known| known.or_better(proof));
        *known = Some(clock);
        clock
    }

    fn is_quiet(&self, integration_id: IntegrationId) -> bool {
        lock(&self.lanes)
            .get(&integration_id)
            .and_then(|lane| lane.quiet_until)
            .is_some_and(|until| until > Instant::now())
    }

    pub(crate) async fn next(self: &Arc<Self>, integration_id: IntegrationId, is_limited: bool) -> Slot {
        loop {
            // The lane is quiet in the database too, so the job is not claimed again before that ends.
            if self.closed.is_cancelled() || self.is_quiet(integration_id) {
                return Slot::Later(AT_ONCE);
            }
            if !is_limited {
                return Slot::Go;
            }
            let (due, latest, limits) = tokio::select! {
                () = self.closed.cancelled() => return Slot::Later(AT_ONCE),
                grant = self.queue(integration_id) => match grant {
                    Ok(Grant::At { due, latest, limits }) => (due, latest, limits),
                    Ok(Grant::Later(until)) => return Slot::Later(until),
                    Err(_) => return Slot::Later(AT_ONCE),
                },
            };
            match self.use_slot(integration_id, due, latest, &limits).await {
                SlotUse::Send => return Slot::Go,
                SlotUse::Missed => {}
                SlotUse::Full { until } => return Slot::Later(self.time_at(until)),
            }
        }
    }

    /// Sleeps until the slot, and until the windows have room if that is soon.
    async fn use_slot(
        &self,
        integration_id: IntegrationId,
        due: Instant,
        latest: Option<Instant>,
        limits: &[Limit],
    ) -> SlotUse {
        let mut wake_at = due;
        loop {
            tokio::select! {
                () = self.closed.cancelled() => return SlotUse::Missed,
                () = tokio::time::sleep_until(wake_at) => {}
            }
            let now = Instant::now();
            if latest.is_some_and(|latest| now > latest) || self.is_quiet(integration_id) {
                return SlotUse::Missed;
            }
            match self.sends.send(limits, now) {
                Ok(()) => return SlotUse::Send,
                Err(free_at) if free_at > now + ROOM_TIMEOUT => {
                    return SlotUse::Full { until: free_at.min(now + MAX_FULL_RELEASE) };
                }
                Err(free_at) => wake_at = free_at,
            }
        }
    }

    fn time_at(&self, moment: Instant) -> DateTime<Utc> {
        let clock = *lock(&self.clock);
        clock.and_then(|clock| DateTime::from_timestamp_micros(clock.shows_at(moment))).unwrap_or(AT_ONCE)
    }

    /// Queues for the lane's next reservation; the first in the queue starts it.
    fn queue(self: &Arc<Self>, integration_id: IntegrationId) -> oneshot::Receiver<Grant> {
        let (sender, receiver) = oneshot::channel();
        let mut lanes = lock(&self.lanes);
        let lane = lanes.entry(integration_id).or_default();
        lane.waiting.push(sender);
        if !lane.is_served {
            lane.is_served = true;
            // In a task of its own: stopping the job that waits must not cancel the reservation of the others.
            tokio::spawn(Arc::clone(self).serve(integration_id));
        }
        receiver
    }

    async fn serve(self: Arc<Self>, integration_id: IntegrationId) {
        loop {
            let waiting = {
                let mut lanes = lock(&self.lanes);
                let Some(lane) = lanes.get_mut(&integration_id) else { return };
                lane.waiting.retain(|waiting| !waiting.is_closed());
                if lane.waiting.is_empty() {
                    lane.is_served = false;
                    return;
                }
                let count = lane.waiting.len().min(MAX_SLOTS);
                lane.waiting.drain(..count).collect::<Vec<_>>()
            };
            let mut grants = self.reserve(integration_id, waiting.len()).await.into_iter();
            for sender in waiting {
                // The slot of a job that was stopped meanwhile stays unused.
                let _ = sender.send(grants.next().unwrap_or(Grant::Later(AT_ONCE)));
            }
        }
    }

    /// A grant for each of `wanted` jobs. A database that does not answer grants nothing.
    async fn reserve(&self, integration_id: IntegrationId, wanted: usize) -> Vec<Grant> {
        let asked_at = Instant::now();
        let horizon_us = i64::try_from(HORIZON.as_micros()).unwrap_or(i64::MAX);
        // One statement, a short transaction that commits asynchronously.
        let asked = sqlx::query!(
            r#"
            select r.slots_us as "slots_us!", r.now_us as "now_us!", r.next_free_us as "next_free_us!",
                (select count(*) from headgate.workers w where w.lease_until > clock_timestamp()) as "workers!",
                x.keys as "keys!", x.requests as "requests!", x.per_seconds as "per_seconds!"
            from headgate.lanes l
            cross join lateral headgate.reserve_slots(l.limit_keys, $2, $3) r
            cross join lateral (
                select coalesce(array_agg(x.key), '{}') as keys, coalesce(array_agg(x.requests), '{}') as requests,
                    coalesce(array_agg(x.per_seconds), '{}') as per_seconds
                from headgate.rate_limits x where x.key = any (l.limit_keys)
            ) x
            where l.integration_id = $1
            "#,
            integration_id.0,
            i32::try_from(wanted).unwrap_or(i32::MAX),
            horizon_us,
        )
        .fetch_optional(&self.pool);
        let row = match timeout(RESERVE_TIMEOUT, asked).await {
            Ok(Ok(Some(row))) => row,
            // The integration was deleted: its jobs will not be claimed again.
            Ok(Ok(None)) => return Vec::new(),
            Ok(Err(error)) => {
                tracing::warn!(integration.id = %integration_id, %error, "no slots reserved for integration {integration_id}");
                return Vec::new();
            }
            Err(_) => return Vec::new(),
        };
        let clock = self.learn(DatabaseClock::proven(row.now_us, asked_at, Instant::now()));
        let limits: Arc<[Limit]> = row
            .keys
            .into_iter()
            .zip(row.requests)
            .zip(&row.per_seconds)
            .map(|((key, requests), per_seconds)| Limit {
                key,
                requests: usize::try_from(requests).unwrap_or(usize::MAX),
                per: Duration::from_secs(u64::try_from(*per_seconds).unwrap_or(1)),
            })
            .collect();
        // If it is the only process, it knows of every request and needs no deadline.
        let lateness = row.per_seconds.iter().min().filter(|_| row.workers > 1).map(|per_seconds| {
            let limit = RateLimit { requests: 1, per_seconds: *per_seconds };
            Duration::from_micros(u64::try_from(limit.lateness_us()).unwrap_or(0))
        });
        let soon_us = row.now_us + i64::try_from(MAX_RELEASE.as_micros()).unwrap_or(0);
        let later = DateTime::from_timestamp_micros(row.next_free_us.min(soon_us)).unwrap_or(AT_ONCE);
        let mut grants: Vec<Grant> = row
            .slots_us
            .iter()
            .map(|slot_us| Grant::At {
                due: clock.reached_at(*slot_us),
                latest: lateness.map(|lateness| clock.not_before(*slot_us) + lateness),
                limits: Arc::clone(&limits),
            })
            .collect();
        grants.resize_with(wanted, || Grant::Later(later));
        grants
    }
}
