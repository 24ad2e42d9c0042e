//! Circuit breakers: what engines, the leader and operators do to them, and what that does to jobs.

mod deleting;
mod opening;
mod probing;
mod steering;
mod support;
