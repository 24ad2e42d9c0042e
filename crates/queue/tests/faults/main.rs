//! The engine under faults: seeded, replayable, judged by the same invariants at the end of every test.
//!
//! Each test prints its seed; `HEADGATE_FAULT_SEED` repeats it: the same plan of jobs and faults, which strike after a number of attempts,
//! not after a time. `HEADGATE_FAULT_ROUNDS` runs each seeded test with that many seeds, as a soak test.
//!
//! Faults that need a process of their own (SIGKILL, SIGSTOP, a shifted clock) run this test binary again as a worker: see [`worker`].
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
