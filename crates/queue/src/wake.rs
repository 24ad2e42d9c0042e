//! Tells the workers of all processes that there is work.
//!
//! Sent after the commit and never inside the data's transaction, where the notification's database-wide lock made inserting five
//! times slower (RELIABILITY 0.7). The first call notifies at once, further ones within the gap are gathered into one at
//! its end. The gap is so short that hundreds of jobs a second are told of one by one; only where calls keep coming within it does it grow,
//! because whoever works through thousands a second looks for more by itself. The payload says nothing about jobs, only who tells: the engine that this waker rang itself need not look again.

use crate::{error::QueueError, worker::EngineHandle};
use sqlx::PgPool;
use std::{
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
    time::Duration,
};
use tokio::{sync::Notify, time::Instant};
use uuid::Uuid;

/// The channel workers listen on.
pub const CHANNEL: &str = "headgate_jobs";
/// The channel workers hear on which of their assignments they are to let go of: their ids, separated by commas.
pub(crate) const CANCELS: &str = "headgate_cancels";
/// At most one notification in this time, at first; twice as much after each in which it was asked for again.
const SHORTEST_GAP: Duration = Duration::from_millis(1);
const LONGEST_GAP: Duration = Duration::from_millis(8);

/// Wakes the workers of all processes once, and says so when it cannot. For those that have no [`Waker`].
///
/// # Errors
/// When the database is away.
pub(crate) async fn all(pool: &PgPool) -> Result<(), QueueError> {
    sqlx::query("select pg_notify($1, '')").bind(CHANNEL).execute(pool).await?;
    Ok(())
}

/// Wakes the workers of all processes. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Waker {
    /// Its notifications carry it.
    id: Uuid,
    asked: Arc<Notify>,
    own: Own,
    // Dropping the last waker ends the task behind it.
    _alive: Arc<tokio::sync::mpsc::Sender<()>>,
}

/// The engines of this process that need no notification.
type Own = Arc<RwLock<Vec<Arc<Notify>>>>;

impl Waker {
    /// Must be called inside a runtime: the notifications are sent by a task.
    #[must_use]
    pub fn new(pool: PgPool) -> Self {
        let id = Uuid::now_v7();
        let (asked, own) = (Arc::new(Notify::new()), Own::default());
        let (alive, mut ended) = tokio::sync::mpsc::channel::<()>(1);
        let waiting = Arc::clone(&asked);
        tokio::spawn(async move {
            let (mut gap, mut quiet_from) = (SHORTEST_GAP, Instant::now());
            loop {
                tokio::select! {
                    () = waiting.notified() => {}
                    _ = ended.recv() => return,
                }
                let sent_at = Instant::now();
                // Within the gap it would have been asked at once.
                let is_crowded = sent_at < quiet_from + SHORTEST_GAP;
                gap = if is_crowded { (gap * 2).min(LONGEST_GAP) } else { SHORTEST_GAP };
                // A wake-up that cannot be sent is no loss: every worker polls.
                // And nobody waits for it to reach the disk, which would take longer than all the rest.
                let told =
                    sqlx::query("select set_config('synchronous_commit', 'off', true), pg_notify($1, $2)");
                if let Err(error) = told.bind(CHANNEL).bind(id.to_string()).execute(&pool).await {
                    tracing::debug!(%error, "no wake-up sent");
                }
                quiet_from = sent_at + gap;
                tokio::time::sleep_until(quiet_from).await;
            }
        });
        Self { id, asked, own, _alive: Arc::new(alive) }
    }

    /// Wakes the engine of this process directly, too: its next job need not wait for a notification to come back from the database.
    pub fn wake_directly(&self, engine: &EngineHandle) {
        self.own.write().unwrap_or_else(PoisonError::into_inner).push(engine.bell_for(self.id));
    }

    /// Call after the commit that made jobs claimable.
    pub fn jobs_added(&self) {
        for bell in read(&self.own).iter() {
            bell.notify_one();
        }
        self.asked.notify_one();
    }

    /// The same.
    pub fn wake(&self) {
        self.jobs_added();
    }
}

fn read(own: &Own) -> RwLockReadGuard<'_, Vec<Arc<Notify>>> {
    own.read().unwrap_or_else(PoisonError::into_inner)
}
