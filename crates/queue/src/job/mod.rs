//! Jobs as their authors write them: a payload type that names the kind of job ([`Job`]), and its handler ([`JobHandler`]).
//!
//! They are two traits because callers that enqueue need only the payload, and not the dependencies of the handler.

mod definition;
mod error;
mod handler;
mod new_job;

pub use definition::Job;
pub use error::{JobError, OrJobError};
pub use handler::JobHandler;
#[cfg(feature = "testing")]
pub(crate) use handler::payload;
pub use new_job::NewJob;
