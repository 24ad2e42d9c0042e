//! The statements of jobs.

mod accepting;
mod cancel_requests;
mod cancelling;
mod claiming;
mod claiming_few;
mod counting;
mod finishing;
mod index_lookups;
mod keys;
mod keys_undone;
mod locked_first;
mod lost_workers;
mod many_lanes;
mod orphans;
mod parking;
mod plans;
mod requeuing;
mod requeuing_duplicates;
mod scaling;
mod shared_limits;
mod starving;
mod steering;
mod touching;
