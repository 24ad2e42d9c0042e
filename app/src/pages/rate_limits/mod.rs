//! Rate limits: the heat wall, with what waits behind each limit, and the place where limits are edited.

mod editor;
mod numbers;
mod row;
mod wall;

pub use wall::RateLimitsPage;
