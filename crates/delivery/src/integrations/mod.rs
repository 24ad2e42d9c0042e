//! Creating, changing, pausing, testing and deleting integrations. The lane that the claim reads is written in the same transaction.

mod control;
mod create;
mod delete;
mod lane;
mod secrets;
mod test;
mod update;
mod window;

pub(crate) use control::{Pause, pause_because};
pub(crate) use create::create_built_in;
pub(crate) use delete::{refuse_live_jobs, remove};
pub(crate) use secrets::{Credentials, open_credentials, open_signing_secrets};
