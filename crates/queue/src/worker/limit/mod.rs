//! When requests may be sent: slots under the rate limits of all processes, reserved ahead and used on time.

mod database_clock;
mod limiter;
mod recent_sends;
mod slot;
mod slots;

pub(crate) use limiter::Limiter;
pub use slot::{AT_ONCE, Slot};
pub use slots::Slots;
