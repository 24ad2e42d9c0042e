//! The trail: everything that a text can name, and all jobs about it on one timeline.

mod lookup;
mod page;
mod search;
