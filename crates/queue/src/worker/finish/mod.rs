//! Records how attempts ended: in batches, together with what their handlers write, however long the database is away.
//!
//! A result comes to the `finisher`, which gathers batches; `breakers` hear of them first; the `writer` gets each batch recorded, whole or in parts, by
//! transactions of the `recorder`, in which `callbacks` call the handlers. Ends whose rows are locked elsewhere wait in `locked_results`.

mod breaker_outcomes;
mod breakers;
mod callback_time;
mod callbacks;
mod finished;
mod finisher;
mod latencies;
mod locked_results;
mod races;
mod recorder;
mod writer;

pub(crate) use breakers::Breakers;
pub(crate) use finished::Finished;
pub(crate) use finisher::{Finisher, Gathering};
pub(crate) use latencies::Latencies;
pub(crate) use recorder::Recorder;
pub(crate) use writer::Writer;
