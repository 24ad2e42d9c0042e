//! What a kind of job is.

use serde::{Serialize, de::DeserializeOwned};
use std::time::Duration;

/// A kind of job, and the payload each of them is made with.
///
/// The type is the payload: it is stored as JSON (at most 1 MB and 64 levels, no NUL characters) and given back to the
/// [`JobHandler`](crate::JobHandler). It outlives deployments, so change it as you would change a table: new fields with `#[serde(default)]`.
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
///     // However often it is asked for, one order has one invoice waiting.
///     fn deduplication_id(&self) -> Option<String> {
///         Some(self.order_id.to_string())
///     }
/// }
/// ```
pub trait Job: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// What the job is called, 1 to 255 characters: in the table, in every list, and where its handler is looked up. Not to be changed
    /// while such jobs wait.
    const JOB_TYPE: &'static str;

    /// Attempts one may have, 1 to 100. None: what its lane says, or else 10.
    const MAX_ATTEMPTS: Option<i16> = None;

    /// Time for one attempt, 100 ms to 1 h. None: what its lane says, or else [`EngineConfig::job_timeout`](crate::EngineConfig) of the
    /// process that runs it.
    const TIMEOUT: Option<Duration> = None;

    /// -100 to 100, higher first.
    const PRIORITY: i16 = 0;

    /// At most one job of this type and id waits in a lane (1 to 255 characters together with the type; two types never meet). A further one
    /// is folded into it: the newest payload, the most urgent priority and the earliest time win. One that comes while its twin runs waits
    /// for that to end. None: every job is its own.
    fn deduplication_id(&self) -> Option<String> {
        None
    }

    /// Jobs of one lane with the same key (1 to 255 characters, whatever their type) run one at a time, in the order they were accepted;
    /// a retry keeps the ones behind it waiting. None: nothing waits for another.
    fn serialize_key(&self) -> Option<String> {
        None
    }
}
