//! What users wait for, measured from outside: events over HTTP to a running `headgate serve`, and signed requests from it.

mod accept;
mod deliver;
mod idle;
mod latency;
mod live;
mod reads;
pub(crate) mod receiver;
mod single;
mod world;

pub(crate) use accept::run as accept;
pub(crate) use deliver::run as deliver;
pub(crate) use idle::run as idle;
pub(crate) use latency::run as latency;
pub(crate) use live::run as live;
pub(crate) use reads::run as reads;
pub(crate) use single::run as single;
