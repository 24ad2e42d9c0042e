//! Secrets at rest: sealed with the master key, each bound to its row and column, so that a ciphertext copied to another app's row cannot be
//! decrypted there.

mod master_key;
mod secret;

pub use master_key::{MasterKey, MasterKeyError, Place, SealError};
pub use secret::Secret;
