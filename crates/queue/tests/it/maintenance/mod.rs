//! What the leader does: counters, snapshots, partitions, retention, bulk actions, and who leads.

mod bulk_pace;
mod cancels;
mod expiry;
mod fold;
mod latency;
mod leader;
mod live;
mod measures;
mod operations;
mod partitions;
mod poison;
mod promotion;
mod recount;
mod reindex;
mod retention;
mod running;
mod snapshot;
mod throughput;
mod tidy;
mod vacuum;
mod world;
