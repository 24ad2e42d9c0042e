//! Cancelling: waiting jobs at once, running ones by a request to their worker; expiry; parking of paused batches.

pub(super) mod assignments_to_stop;
pub(super) mod batch;
pub(super) mod expire;
pub(super) mod many;
pub(super) mod one;
pub(super) mod park;
mod try_lock;
pub(super) mod wait_for_cancel;

pub(crate) use assignments_to_stop::assignments_to_stop;
pub use batch::cancel_batch_jobs;
pub(crate) use batch::{batch_jobs_to_cancel, cancel_these};
pub(crate) use expire::{ExpiredJob, expire, expired};
pub use many::cancel_many;
pub use one::{cancel, cancel_integration_jobs};
pub use park::{batches_to_resume, park_batch, resume_batch};
pub(crate) use park::{jobs_to_park, jobs_to_resume, park_these, resume_these};
pub use wait_for_cancel::{CANCEL_TIMEOUT, wait_for_cancel};
