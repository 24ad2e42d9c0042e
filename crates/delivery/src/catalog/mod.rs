//! Accepting events: records are written, interested integrations found and jobs made in one transaction, all or nothing; small requests
//! that come at once share one ([`gather`]).
//!
//! The statements are few and set-based: records are held in key order, read in portions of bounded size, changed in memory by
//! [`fold`] (so that several events of one record behave as if they had come one by one), written back together, and one job per
//! changing event and interested integration is handed to the queue, which folds them.

mod accept;
mod fold;
mod gather;
pub(crate) mod key;
mod numbers;
mod repeated;
mod take_in;
mod times;

pub(crate) use gather::Gathering;
pub(crate) use times::Times;
