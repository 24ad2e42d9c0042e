//! Jobs as their authors write them: a payload that says what kind of job it is ([`Job`]), and who does it ([`JobHandler`]).
//!
//! Two traits, because the two are seldom at home in one place: who enqueues needs the payload alone, and not what doing it depends on.

mod definition;
mod error;
mod handler;
mod new_job;

pub use definition::Job;
pub use error::{JobError, OrJobError};
pub use handler::JobHandler;
pub(crate) use handler::Typed;
#[cfg(feature = "testing")]
pub(crate) use handler::payload;
pub use new_job::NewJob;
pub(crate) use new_job::Place;
