//! The engine against a real Postgres: one database per test.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends there, in its builders too")]

mod breakers;
mod connecting;
mod jobs;
mod library;
mod maintenance;
mod owners;
mod support;
mod worker;
