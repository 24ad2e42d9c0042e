//! What the leader does: counters, snapshots, partitions, retention, bulk actions, and who leads.

mod bulk_pace;
mod fold;
mod leader;
mod live;
mod operations;
mod partitions;
mod promotion;
mod retention;
mod running;
mod snapshot;
mod throughput;
mod vacuum;
mod world;
