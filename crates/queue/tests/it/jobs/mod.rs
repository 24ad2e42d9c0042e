//! The statements of jobs.

mod accepting;
mod calling_off;
mod cancelling;
mod claiming;
mod counting;
mod failing;
mod finishing;
mod grid;
mod holding;
mod keys;
mod listing;
mod locked_first;
mod losing;
mod many_lanes;
mod masked_errors;
mod plans;
mod probing;
mod requeuing;
mod requeuing_twins;
mod scaling;
mod sharing;
mod starving;
mod steering;
mod touching;
mod trailing;
mod unknown;
