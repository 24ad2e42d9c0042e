//! Server functions: take actor and input, make one call of `service`, return its model type to the page.
//!
//! Each is a public endpoint and authorises like one. Those that a form calls redirect to the page they came from with a
//! notice, so that they work without a script; the notice of a refused one says why ([`error::FormRefused`]).

pub mod audit;
pub mod bulk;
pub mod dead_letters;
pub mod error;
pub mod failures;
pub mod find;
pub mod integration_list;
pub mod integrations;
pub mod jobs;
pub mod json;
pub mod operations;
pub mod rate_limits;
pub mod resyncs;
pub mod saved_views;
pub mod session;
pub mod settings;
pub mod stats;
pub mod theme;
pub mod trail;
pub mod workers;
