//! Claiming: which ready jobs a process gets, and under which lease.

pub(super) mod claimed;
pub(super) mod claimer;
pub(super) mod take;

pub use claimed::{Claimed, ClaimedJob};
pub use claimer::{
    Claimer, Durability, NextWork, find_next_work, terminate_stalled_claims, wait_until_durable,
};
pub use take::{ClaimRequest, claim, claim_and_roll_back};
