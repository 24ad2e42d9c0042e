//! The engine against a real Postgres: one database per test.

mod jobs;
mod maintenance;
mod support;
mod worker;
