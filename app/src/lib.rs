//! The console: pages rendered on the server, taken over by the browser.

pub mod format;
pub mod state;
pub mod ui;
