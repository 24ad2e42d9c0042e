//! The connections of API and console: how many there may be, how long a silent one may stay, and what is left for probes when all are taken.
//!
//! HTTP/1.1 alone: TLS and HTTP/2 are a reverse proxy's, and one connection is one request at a time, so that counting connections bounds both.

mod accept;
mod limits;
mod slots;

pub use accept::serve;
pub use limits::ConnectionLimits;
