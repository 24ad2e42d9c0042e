//! Accepting events: records are written, interested integrations found and jobs made in one transaction, all or nothing; concurrent small
//! requests share one ([`group_commit`]).
//!
//! The statements are few and set-based: records are locked in key order, read in portions of bounded size, changed in memory by
//! [`fold`] (so that several events of one record behave as if they had come one by one), written back together, and one job per
//! changing event and interested integration is handed to the queue, which folds them.

mod accept;
mod fold;
mod group_commit;
pub(crate) mod key;
mod numbers;
mod repeated;
mod request;
mod times;
mod transaction;

pub(crate) use group_commit::GroupCommit;
pub(crate) use times::Times;
