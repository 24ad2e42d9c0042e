//! Secrets at rest: sealed with the master key, each bound to the row and column it stands in, so that a ciphertext copied to another
//! tenant's row does not open there.

mod master_key;
mod secret;

pub use master_key::{MasterKey, MasterKeyError, Place, SealError};
pub use secret::Secret;
