//! The types of Headgate and its pure rules, shared by engine, API and browser.
//!
//! Nothing here does I/O or reads a clock: rules get the time as an argument. The types serialize to the JSON of the API, and their names are
//! those of the API.
#![deny(missing_docs)]

pub mod activity;
pub mod actor;
pub mod api_key;
pub mod app;
pub mod attempt;
pub mod attributes;
pub mod audit;
pub mod breaker;
pub mod dead_letter;
pub mod dead_letter_grid;
pub mod deletion;
pub mod duration;
pub mod etag;
pub mod event;
pub mod exchange;
pub mod failure;
pub mod filter;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixtures;
pub mod found;
pub mod histogram;
pub mod id;
pub mod instance;
pub mod integration;
pub mod integration_bulk;
pub mod integration_control;
pub mod integration_query;
pub mod integration_settings;
pub mod job;
pub mod job_columns;
pub mod json;
pub mod key;
pub mod limit_use;
pub mod limits;
pub mod list_query;
pub mod matched;
pub mod moment;
pub mod one_or_many;
pub mod opened;
pub mod operation;
pub mod page;
pub mod patch;
pub mod problem;
pub mod rate_limit;
pub mod record;
pub mod record_page;
pub mod request;
pub mod resync;
pub mod retention;
pub mod rules;
pub mod saved_query;
pub mod saved_view;
pub mod snapshot_changes;
pub mod stats;
pub mod storage;
pub mod sync_status;
pub mod text;
pub mod trace;
pub mod trail;
pub mod unknown_name;
pub mod user;
pub mod views;
pub mod worker;
