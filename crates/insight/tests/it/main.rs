//! What is seen, against a real Postgres: one database per test. Builders are those of the engine's tests.
#![allow(clippy::unwrap_used, reason = "a failed step ends the test, in builders too")]

mod lists;
mod services;
#[allow(dead_code, unused_imports, reason = "the engine's tests use all of it")]
#[path = "../../../queue/tests/it/support/mod.rs"]
mod support;
