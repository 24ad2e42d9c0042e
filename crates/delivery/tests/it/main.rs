//! Deliveries against a real Postgres and a real HTTP receiver.
#![allow(clippy::unwrap_used, reason = "tests say what went wrong by stopping")]

mod accepting;
mod breakers;
mod bundle_parts;
mod bundle_windows;
mod bundles;
mod cancelling;
mod endless_answers;
mod exchanges;
mod in_sync;
mod integrations;
mod jobs;
mod maintenance;
mod material;
mod own_lanes;
mod previews;
mod records;
mod resync_pauses;
mod resyncs;
mod sending;
mod status;
mod support;
#[path = "../../../queue/tests/it/support/touched.rs"]
mod touched;
mod uncertain;
mod verdicts;
