//! What the leader does: counters, snapshots, partitions, retention, bulk operations, and who leads.

mod expiry;
mod fold;
mod leader;
mod partitions;
mod poison;
mod promotion;
mod recount;
mod reindex;
mod retention;
mod running;
mod signs;
mod tidy;
mod vacuum;
mod world;
