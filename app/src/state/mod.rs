//! What pages share: the mount prefix, the theme, the clock, filters in the URL and the live stream.

pub mod base_path;
pub mod clock;
pub mod theme;
