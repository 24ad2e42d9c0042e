//! What the pages of the console show: composed by the service floor, rendered by the console.

pub mod choices;
pub mod names;
