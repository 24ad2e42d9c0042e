//! Engines that run: what they do to jobs, and what is left when they stop, die or lose the database.

mod ahead_of_disk;
mod calling_off;
mod doubting;
mod limits;
mod losing;
mod running;
mod schedules;
mod settings;
mod starting;
mod stopping;
mod turns;
mod waiting;
