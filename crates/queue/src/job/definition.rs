//! The trait of payload types.

use serde::{Serialize, de::DeserializeOwned};
use std::time::Duration;

/// A kind of job and its payload.
///
/// The type is the payload: it is stored as JSON (at most 1 MB and 64 levels, no NUL characters) and handed to the
/// [`JobHandler`](crate::JobHandler). Stored payloads outlive deployments, so change the type as you would change a table: new fields with
/// `#[serde(default)]`.
///
/// ```
/// # use queue::Job;
/// # use serde::{Deserialize, Serialize};
/// #[derive(Serialize, Deserialize)]
/// struct GenerateInvoice {
///     order_id: u64,
/// }
///
/// impl Job for GenerateInvoice {
///     const JOB_TYPE: &'static str = "invoice.generate";
///     const MAX_ATTEMPTS: Option<i16> = Some(5);
///
///     // However often it is enqueued, at most one invoice of an order waits.
///     fn deduplication_id(&self) -> Option<String> {
///         Some(self.order_id.to_string())
///     }
/// }
/// ```
pub trait Job: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The name of the kind of job, 1 to 255 characters: it is stored, shown in every list, and selects the handler. Do not change it while such
    /// jobs wait.
    const JOB_TYPE: &'static str;

    /// Most attempts, 1 to 100. None: the lane's setting, or else 10.
    const MAX_ATTEMPTS: Option<i16> = None;

    /// Time-out of an attempt, 100 ms to 1 h. None: the lane's setting, or else [`EngineConfig::job_timeout`](crate::EngineConfig) of the process
    /// that runs it.
    const TIMEOUT: Option<Duration> = None;

    /// -100 to 100; higher runs first.
    const PRIORITY: i16 = 0;

    /// At most one job of this type and id waits in a lane (type and id together have 1 to 255 characters; jobs of two types never fold). A further
    /// one is folded into it: the newest payload, the most urgent priority and the earliest time win. One that is enqueued while its predecessor
    /// runs waits for that to end. None: the job never folds.
    fn deduplication_id(&self) -> Option<String> {
        None
    }

    /// Jobs of a lane with the same key (1 to 255 characters, whatever their type) run one at a time in the order they were accepted; a job that waits
    /// for its retry holds back those behind it. None: the job waits for no other.
    fn serialize_key(&self) -> Option<String> {
        None
    }
}
