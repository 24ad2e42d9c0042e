//! The service floor on a real Postgres, without HTTP: one database per test.
#![allow(clippy::unwrap_used, reason = "a failed step ends the test, in builders too")]

mod audited;
mod masked;
mod permissions;
mod refused;
mod scoped;
mod undone;
mod world;
