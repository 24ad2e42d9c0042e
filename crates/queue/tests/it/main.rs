//! The engine against a real Postgres: one database per test.

mod maintenance;
