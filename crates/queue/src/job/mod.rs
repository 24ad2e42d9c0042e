//! Jobs as their authors write them: a payload type that names the kind of job ([`Job`]), and its handler ([`JobHandler`]).
//!
//! They are two traits because callers that enqueue need only the payload, and not the dependencies of the handler.

pub(crate) mod definition;
pub(crate) mod error;
pub(crate) mod handler;
pub(crate) mod new_job;
