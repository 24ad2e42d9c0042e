//! Jobs: accepting, claiming, finishing, cancelling and listing them.

mod assignments_to_stop;
mod cancel;
mod cancel_batch;
mod cancel_many;
mod claim;
mod claimed;
mod claimer;
mod columns;
mod edit;
mod enqueue;
mod entries;
mod expire;
mod finish;
mod get;
mod key_neighbours;
pub(crate) mod keys;
mod locked_elsewhere;
mod orphans;
mod park;
mod part;
mod progress;
pub mod record_key;
mod recover;
mod requeue;
mod reschedule;
mod restore;
pub mod rows;
#[cfg(feature = "testing")]
mod test_kit;
mod try_lock;
mod undo;
mod wait_for_cancel;

pub(crate) use assignments_to_stop::assignments_to_stop;
pub use cancel::{cancel, cancel_integration_jobs};
pub use cancel_batch::cancel_batch_jobs;
pub(crate) use cancel_batch::{batch_jobs_to_cancel, cancel_these};
pub use cancel_many::cancel_many;
pub use claim::{ClaimRequest, claim, claim_and_roll_back};
pub use claimed::{Claimed, ClaimedJob};
pub use claimer::{
    Claimer, Durability, NextWork, find_next_work, terminate_stalled_claims, wait_until_durable,
};
pub use edit::change_payload;
pub use enqueue::{JobSpec, enqueue};
pub(crate) use enqueue::{SingleJob, enqueue_single};
pub(crate) use entries::enter_queue;
pub(crate) use expire::{ExpiredJob, expire, expired};
pub use finish::{Applied, AttemptEnd, BEGIN, Completion, Ending, Failure, Finished, Response, finish};
pub use get::find;
pub use get::{find_by_any_id, get};
pub use key_neighbours::key_neighbours;
pub(crate) use locked_elsewhere::locked_elsewhere;
pub use orphans::{OwnClaims, release_orphans};
pub use park::{batches_to_resume, park_batch, resume_batch};
pub(crate) use park::{jobs_to_park, jobs_to_resume, park_these, resume_these};
pub use part::{Part, push_scope};
pub(crate) use progress::note_progress;
pub use record_key::{RESERVED_PREFIX, deduplication_id, record_of};
pub use recover::{Recovered, recover_lost_leases};
pub(crate) use recover::{claims_of_dead_workers, delete_dead_claims, recover};
pub use requeue::requeue;
pub use requeue::requeue_many;
pub use reschedule::{is_any_scheduled_later, reschedule_earlier};
pub use restore::{EndedIds, restore_to_queue};
#[cfg(feature = "testing")]
pub(crate) use test_kit::{
    claim_one, claim_order, let_time_pass, pending, promote_everything, remove_worker,
};
pub use undo::{lock_untried, restore_attempts, restore_cancelled};
pub use wait_for_cancel::{CANCEL_TIMEOUT, wait_for_cancel};
