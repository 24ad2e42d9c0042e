//! The connections of API and console: their limits, their timeouts, and a reserve for probes when all are in use.
//!
//! HTTP/1.1 only: TLS and HTTP/2 are left to a reverse proxy. A connection has one request at a time, so limiting connections limits requests.

mod accept;
mod limits;
mod slots;

pub use accept::serve;
pub use limits::ConnectionLimits;
