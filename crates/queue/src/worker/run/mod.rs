//! Makes one attempt at a claimed job: calls its handler, ends it in time, and hands the result to the finisher.

mod attempt;
mod attempt_runner;
mod attempts;
#[cfg(test)]
mod idle_runner;
mod overdue;

pub(crate) use attempt::Attempt;
pub(crate) use attempt_runner::AttemptRunner;
pub(crate) use attempts::Attempts;
#[cfg(test)]
pub(crate) use idle_runner::idle_runner;
pub(crate) use overdue::OverdueCheck;
