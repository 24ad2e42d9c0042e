//! Makes one attempt at a claimed job: calls its handler, ends it in time, and hands the result to the finisher.

pub(super) mod attempts;
pub(super) mod execute;
pub(super) mod overdue;
