//! Jobs: accepting, claiming, finishing, cancelling, recovering, requeueing and reading them.

pub(crate) mod accept;
mod cancel;
mod claim;
mod finish;
pub mod read;
mod recover;
mod requeue;
mod rows;
#[cfg(feature = "testing")]
mod test_kit;

pub(crate) use accept::enqueue_single;
pub use accept::{JobSpec, RESERVED_PREFIX, deduplication_id, enqueue, record_of};
pub use cancel::{
    CANCEL_TIMEOUT, batches_to_resume, cancel, cancel_batch_jobs, cancel_integration_jobs, cancel_many,
    park_batch, resume_batch, wait_for_cancel,
};
pub(crate) use cancel::{
    ExpiredJob, assignments_to_stop, batch_jobs_to_cancel, cancel_these, expire, expired, jobs_to_park,
    jobs_to_resume, park_these, resume_these,
};
pub use claim::{
    ClaimRequest, Claimed, ClaimedJob, Claimer, Durability, NextWork, claim, claim_and_roll_back,
    find_next_work, terminate_stalled_claims, wait_until_durable,
};
pub use finish::{Applied, AttemptEnd, BEGIN, Completion, Ending, Failure, Finished, Response, finish};
pub(crate) use finish::{locked_elsewhere, note_progress};
pub use read::{Part, find, find_by_any_id, get, key_neighbours, push_scope};
pub use recover::{OwnClaims, Recovered, recover_lost_leases, release_orphans};
pub(crate) use recover::{claims_of_dead_workers, delete_dead_claims, recover};
pub use requeue::{
    EndedIds, change_payload, is_any_scheduled_later, lock_untried, requeue, requeue_many,
    reschedule_earlier, restore_attempts, restore_cancelled, restore_to_queue,
};
pub(crate) use rows::enter_queue;
#[cfg(feature = "testing")]
pub(crate) use test_kit::{
    claim_one, claim_order, let_time_pass, pending, promote_everything, remove_worker,
};
