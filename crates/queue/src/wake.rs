//! Notifies the workers of all processes that there is work.
//!
//! The notification is sent after the commit and never inside the data's transaction, where its database-wide lock made inserts five times slower.
//! The first call notifies at once; further calls within a gap are combined into one notification at its end. The gap is so short that hundreds of
//! jobs a second are announced one by one. It grows only while calls keep coming within it, because workers that process thousands a second
//! claim again by themselves. The payload says nothing about the jobs, only which waker sent it: an engine that this waker has woken directly
//! ignores it.

use crate::error::QueueError;
use sqlx::PgPool;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;
use tokio::{sync::Notify, time::Instant};
use uuid::Uuid;

/// The channel that announces new work.
pub(crate) const CHANNEL: &str = "headgate_jobs";
/// The channel for cancel requests of running jobs; the payload is the assignments' ids, separated by commas.
pub(crate) const CANCEL_CHANNEL: &str = "headgate_cancels";
/// At most one notification in this time; the gap doubles as long as more calls come within it.
const MIN_GAP: Duration = Duration::from_millis(1);
const MAX_GAP: Duration = Duration::from_millis(8);

/// Wakes the workers of all processes once, for callers without a [`Waker`].
pub async fn wake_all(pool: &PgPool) -> Result<(), QueueError> {
    sqlx::query("select pg_notify($1, '')").bind(CHANNEL).execute(pool).await?;
    Ok(())
}

/// Wakes the workers of all processes. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Waker {
    /// The payload of its notifications.
    id: Uuid,
    requested: Arc<Notify>,
    local: LocalEngines,
    // Dropping the last waker ends the task behind it.
    _alive: Arc<tokio::sync::mpsc::Sender<()>>,
}

/// The engines of this process, which need no notification.
type LocalEngines = Arc<RwLock<Vec<Arc<Notify>>>>;

impl Waker {
    /// Must be called inside a tokio runtime: a task sends the notifications.
    #[must_use]
    pub fn new(pool: PgPool) -> Self {
        let id = Uuid::now_v7();
        let (requested, local) = (Arc::new(Notify::new()), LocalEngines::default());
        let (alive, mut ended) = tokio::sync::mpsc::channel::<()>(1);
        let waiting = Arc::clone(&requested);
        tokio::spawn(async move {
            let (mut gap, mut next_at) = (MIN_GAP, Instant::now());
            loop {
                tokio::select! {
                    () = waiting.notified() => {}
                    _ = ended.recv() => return,
                }
                let sent_at = Instant::now();
                // A call that came within the gap is taken at once when that has passed.
                let is_crowded = sent_at < next_at + MIN_GAP;
                gap = if is_crowded { (gap * 2).min(MAX_GAP) } else { MIN_GAP };
                // A lost wake-up does no harm, because every worker polls. For the same reason it need not reach the disk, which would
                // take longer than all the rest.
                let notify =
                    sqlx::query("select set_config('synchronous_commit', 'off', true), pg_notify($1, $2)");
                if let Err(error) = notify.bind(CHANNEL).bind(id.to_string()).execute(&pool).await {
                    tracing::debug!(%error, "no wake-up sent");
                }
                next_at = sent_at + gap;
                tokio::time::sleep_until(next_at).await;
            }
        });
        Self { id, requested, local, _alive: Arc::new(alive) }
    }

    /// The payload of its notifications.
    pub(crate) fn id(&self) -> Uuid {
        self.id
    }

    /// Also notifies this, for an engine of the same process.
    pub(crate) fn also_notify(&self, work: Arc<Notify>) {
        self.local.write().unwrap_or_else(PoisonError::into_inner).push(work);
    }

    /// Wakes the workers. Call it after the commit that made jobs claimable.
    pub fn wake(&self) {
        for work in read(&self.local).iter() {
            work.notify_one();
        }
        self.requested.notify_one();
    }
}

fn read(local: &LocalEngines) -> RwLockReadGuard<'_, Vec<Arc<Notify>>> {
    local.read().unwrap_or_else(PoisonError::into_inner)
}
