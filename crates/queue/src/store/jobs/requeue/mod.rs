//! Requeueing: jobs that ended run again, earlier than planned, or as they stood before.

pub(super) mod again;
pub(super) mod edit;
pub(super) mod reschedule;
pub(super) mod restore;
pub(super) mod undo;

pub use again::{requeue, requeue_many};
pub use edit::change_payload;
pub use reschedule::{is_any_scheduled_later, reschedule_earlier};
pub use restore::{EndedIds, restore_to_queue};
pub use undo::{lock_untried, restore_attempts, restore_cancelled};
