//! Jobs: accepted, claimed, finished, called off, asked about.

mod bring_back;
mod cancel;
mod cancel_many;
mod claim;
mod enqueue;
mod explain;
pub(crate) mod filter;
mod finish;
mod get;
mod hasten;
mod hold;
mod keys;
mod list;
mod lose;
mod orphans;
mod requeue;
mod rows;

pub(crate) use bring_back::{Which, bring_back};
pub use cancel::{cancel, cancel_of_batch, cancel_of_integration};
pub(crate) use cancel_many::cancel_many;
pub use claim::{ClaimedJob, Claims, claim};
pub use enqueue::{JobSpec, enqueue};
pub use explain::explain;
pub use finish::{Applied, BEGIN, End, Ending, Failure, How, Response, finish};
pub(crate) use get::find;
pub use get::get;
pub use hasten::{hasten, is_any_later};
pub use hold::{batches_to_let_go, hold_of_batch, let_go_of_batch};
pub use list::list;
pub use lose::{Lost, lose_of_dead_workers};
pub(crate) use orphans::{Known, give_back_unknown};
pub use requeue::requeue;
pub(crate) use requeue::requeue_many;
