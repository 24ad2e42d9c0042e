//! Counters of other crates that the recount proves beside those of jobs.

use crate::error::QueueError;
use async_trait::async_trait;
use sqlx::PgConnection;
use std::fmt;
use uuid::Uuid;

/// One kind of counters, proven part by part: for each integration, app or cause. A service hands them in ([`Service::counters`](super::Service::counters)).
#[async_trait]
pub trait Counters: fmt::Debug + Send + Sync + 'static {
    /// Names the stage of the recount that proves them: `snake_case`.
    fn name(&self) -> &'static str;

    /// The next part after this one, by index; none after the last. The first call gets the nil id.
    async fn next(&self, connection: &mut PgConnection, after: Uuid) -> Result<Option<Uuid>, QueueError>;

    /// Compares the counters of a part with the rows and appends the differences as deltas, in one statement; returns by how many they were wrong.
    /// [`crate::store::counts::recount`] says why that is exact. It is called in a transaction that excludes other recounts.
    async fn prove(&self, connection: &mut PgConnection, part: Uuid) -> Result<i64, QueueError>;

    /// Logs that a part was wrong and has been corrected.
    fn report(&self, part: Uuid, off_by: i64);

    /// Whether a difference is a fault, and a part that has none counts as proven.
    fn is_exact(&self) -> bool {
        true
    }
}
