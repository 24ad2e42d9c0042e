//! What the commands share: the database, its pools, the master key, the engine of the process.

mod app_name;
mod database;
mod engine;
mod key_file;
pub(crate) mod open_files;
mod pools;
mod runtime;

pub(crate) use app_name::{app, find_app};
pub(crate) use database::{Database, Mode};
pub(crate) use engine::{Engine, delivery, delivery_without_key};
pub(crate) use key_file::master_key;
pub use pools::Pools;
pub(crate) use pools::{close_by, connect, with_pool};
pub(crate) use runtime::block_on;
