//! What follows a failed attempt: a retry, and after which wait, or a dead letter.

pub(super) mod schedules;
