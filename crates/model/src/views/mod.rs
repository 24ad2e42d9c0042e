//! What the pages of the console show: composed by the service floor, rendered by the console.

pub mod audit;
pub mod choices;
pub mod names;
pub mod overview;
pub mod settings;
pub mod workers;
