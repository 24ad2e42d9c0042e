//! What the leader does: counters, snapshots, partitions, retention, bulk actions, and who leads.

mod fold;
mod leader;
mod live;
mod operations;
mod partitions;
mod retention;
mod running;
mod snapshot;
mod throughput;
mod world;
