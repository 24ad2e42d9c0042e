//! The REST API over HTTP: the whole router on a port, with a database per test. Files mirror the URLs; what applies to every URL has files of
//! its own.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics, also in its builders")]

mod support;

mod api_keys;
mod apps;
mod audit_log;
mod bad_input;
mod breakers;
mod console_calls;
mod dead_letters;
mod deletions;
mod etags;
mod events;
mod explain;
mod failures;
mod guessing;
mod health;
mod idempotency;
mod integration_bulk;
mod integrations;
mod job_edit;
mod jobs;
mod large_bodies;
mod live;
mod masking;
mod metrics;
mod openapi;
mod operations;
mod outage;
mod own_jobs;
mod pages;
mod races;
mod records;
mod replica;
mod resyncs;
mod retention;
mod roles;
mod saved_views;
mod security;
mod sign_in;
mod slow_clients;
mod stats;
mod trail;
mod users;
mod workers;
