//! What pages share: the mount prefix, the theme, the clock, the address with its filters, the live streams and what makes them
//! stand still.

pub mod audit_filters;
pub mod base_path;
pub mod clock;
pub mod event_stream;
pub mod failure_query;
pub mod hold;
pub mod integration_query;
pub mod job_columns;
pub mod keys;
pub mod letter_grid;
pub mod limits_draft;
pub mod live;
pub mod opened;
pub mod page_files;
pub mod page_url;
pub mod payload_draft;
pub mod refresh;
pub mod revision;
pub mod saved_query;
pub mod selection;
pub mod theme;
pub mod trail_query;
pub mod url_filters;
pub mod user_draft;
pub mod what_if;
