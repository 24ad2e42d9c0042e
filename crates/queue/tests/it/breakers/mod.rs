//! Circuit breakers: what engines, the leader and operators do to them, and the consequences for jobs.

mod deleting;
mod opening;
mod probing;
mod steering;
mod support;
