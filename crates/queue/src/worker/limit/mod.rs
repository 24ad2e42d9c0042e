//! When requests may be sent: slots under the rate limits of all processes, reserved ahead and used on time.

mod database_clock;
mod limiter;
mod recent_sends;
pub(super) mod slots;

pub(crate) use limiter::Limiter;
pub(crate) use slots::{AT_ONCE, Slot, Slots};
