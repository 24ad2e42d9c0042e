//! What pages share: the mount prefix, the theme, the clock, the address with its filters and the live stream.

pub mod base_path;
pub mod clock;
pub mod limits_draft;
pub mod live;
pub mod page_url;
pub mod refresh;
pub mod revision;
pub mod theme;
pub mod url_filters;
