//! What the leader does: counters, snapshots, partitions, retention, bulk actions, and who leads.

mod answers;
mod bulk_pace;
mod cancels;
mod expiry;
mod fold;
mod latency;
mod leader;
mod limit_use;
mod live;
mod measures;
mod minutes;
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
mod undo;
mod vacuum;
mod views;
mod world;
