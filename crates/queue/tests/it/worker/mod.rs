//! Running engines: what they do to jobs, and what remains when they stop, die or lose the database.

mod ahead_of_disk;
mod cancelling;
mod limits;
mod locked_results;
mod losing;
mod running;
mod schedules;
mod settings;
mod starting;
mod stopping;
mod turns;
mod uncertainty;
