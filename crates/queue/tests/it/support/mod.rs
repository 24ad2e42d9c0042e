//! Builders and checks that the tests share.

mod engine;
mod handlers;
pub(crate) mod touched;
mod world;

pub(crate) use engine::{config, empty, service, start, until, until_recorded};
pub(crate) use handlers::{Script, failed, given_up, ok, retried, sent};
pub(crate) use touched::{Touched, session};
pub(crate) use world::{World, by_id, end};
