//! Jobs: accepted, claimed, finished, called off, asked about.

mod bring_back;
#[cfg(feature = "testing")]
mod by_hand;
mod called_off;
mod cancel;
mod cancel_many;
mod claim;
mod claimed;
mod claimer;
mod columns;
mod enqueue;
mod expire;
mod explain;
pub(crate) mod filter;
mod finish;
mod get;
mod hasten;
mod held_elsewhere;
mod hold;
pub(crate) mod keys;
mod let_go;
mod list;
mod lose;
mod orphans;
mod progress;
mod requeue;
mod rows;
mod unheeded;

pub(crate) use bring_back::{Which, bring_back};
#[cfg(feature = "testing")]
pub(crate) use by_hand::{claim_one, in_line, let_time_pass, promote_everything, sign_off};
pub(crate) use called_off::called_off;
pub use cancel::{cancel, cancel_of_batch, cancel_of_integration};
pub(crate) use cancel_many::cancel_many;
pub use claim::{Claims, claim, claim_and_undo};
pub use claimed::{Claimed, ClaimedJob};
pub use claimer::{Claimer, Durability, reach_disk};
pub use enqueue::{JobSpec, enqueue};
pub(crate) use expire::{Since, expire, expired};
pub use explain::explain;
pub use finish::{Applied, BEGIN, End, Ending, Failure, How, Response, finish};
pub(crate) use get::find;
pub use get::get;
pub use hasten::{hasten, is_any_later};
pub(crate) use held_elsewhere::held_elsewhere;
pub use hold::{batches_to_let_go, hold_of_batch, let_go_of_batch};
pub(crate) use hold::{hold_these, let_these_go, to_hold, to_let_go};
pub use let_go::{LET_GO_PATIENCE, until_let_go};
pub use list::list;
pub use lose::{Lost, lose_of_dead_workers};
pub(crate) use lose::{dead_claims, forget_dead_claims, lose};
pub use orphans::{Known, give_back_unknown};
pub(crate) use progress::note_progress;
pub use requeue::requeue;
pub(crate) use requeue::requeue_many;
pub(crate) use unheeded::{forget_requests, unheeded};
