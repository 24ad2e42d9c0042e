//! One job: its state, its attempts, what it sends.

pub(super) mod attempt_exchange;
pub(super) mod attempt_history;
pub(super) mod attempt_timeline;
pub(super) mod attempt_words;
pub(super) mod delta_diff;
pub(super) mod job_state;
pub(super) mod job_verdict;
pub(super) mod payload;
pub(super) mod record_syncs;
pub(super) mod retry_pyramid;
pub(super) mod state_history;

pub use attempt_history::History;
pub use attempt_timeline::AttemptTimeline;
pub use delta_diff::DeltaDiff;
pub use job_state::{JobStateBadge, JobStateStyle};
pub use job_verdict::JobVerdict;
pub use payload::Payload;
pub use record_syncs::RecordSyncs;
pub use retry_pyramid::RetryPyramid;
pub use state_history::StateHistory;
