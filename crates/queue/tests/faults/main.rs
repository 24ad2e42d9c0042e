//! The engine under faults: seeded, replayable, judged by the same invariants at the end of every test.
//!
//! Each test prints its seed; `HEADGATE_FAULT_SEED` repeats it: the same plan of jobs and faults, which strike after so many attempts and
//! not after so much time. `HEADGATE_FAULT_ROUNDS` repeats each seeded test with as many seeds, for a soak.
//!
//! What takes a process of its own (a SIGKILL, a stopped clock) runs this test binary again as a worker: see [`worker`].
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends there, in its builders too")]

mod broken_connections;
mod injected_errors;
mod killed_workers;
mod paused_leader;
mod paused_workers;
mod poison;
mod restarted_postgres;
mod skewed_clock;
mod stopping;
mod stuck;
mod support;
mod worker;
