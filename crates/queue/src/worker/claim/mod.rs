//! Claims jobs for the free slots of this process: a loop of claims (`round`) and waits between them (`waits`).

mod claim_loop;
mod claims;
mod round;
mod waits;

pub(crate) use claim_loop::claim_loop;
pub(crate) use claims::Claims;
