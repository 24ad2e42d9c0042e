//! Builders and questions the tests of jobs and workers share.

mod handlers;
mod world;

pub(crate) use handlers::{Script, failure, given_up, retried, sent};
pub(crate) use world::{World, by_id, end, spec};
