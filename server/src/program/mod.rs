//! What the commands share: the database, its pools, the master key, the engine of the process.

mod database;
mod engine;
mod key_file;
pub(crate) mod open_files;
mod pools;
mod runtime;

pub(crate) use database::{Database, Mode};
pub(crate) use engine::{Engine, delivery};
pub(crate) use key_file::master_key;
pub use pools::Pools;
pub(crate) use pools::{close, close_by, connect};
pub(crate) use runtime::block_on;
