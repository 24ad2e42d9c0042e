//! What the rooms of one engine tell each other: its running jobs, claim batches and results, whether there is work, whether the database is away, and
//! whether its loops still run. Each is a small part of its own, and a room is given only those it uses.

mod availability;
mod claim_batches;
pub(super) mod meters;
mod results;
mod running_jobs;
mod wake_ups;
mod watchdog;

pub(crate) use availability::{Availability, Reach};
pub(crate) use claim_batches::ClaimBatches;
pub(crate) use meters::{Meters, Rounds};
pub(crate) use results::Results;
pub(crate) use running_jobs::RunningJobs;
pub(crate) use wake_ups::WakeUps;
pub(crate) use watchdog::{Watchdog, WatchedLoop};
