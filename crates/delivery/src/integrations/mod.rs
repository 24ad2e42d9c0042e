//! Integrations: made, changed, paused, tested, deleted. The lane the claim reads is written in the same transaction.

mod create;
mod delete;
mod lane;
mod secrets;
mod steer;
mod test;
mod update;
mod window;

pub(crate) use create::create_built_in;
pub use delete::DeleteOptions;
pub(crate) use delete::{refuse_live_jobs, remove};
pub(crate) use secrets::{Credentials, open_credentials, open_signing_secrets};
pub(crate) use steer::pause_because;
pub use test::TestReport;
