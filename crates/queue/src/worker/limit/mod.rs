//! When requests may be sent: slots under the rate limits of all processes, reserved ahead and used on time.

pub(super) mod database_clock;
pub(super) mod limiter;
pub(super) mod recent_sends;
pub(super) mod slots;
