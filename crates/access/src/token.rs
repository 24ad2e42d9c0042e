//! Random tokens and their hashes. 256 random bits cannot be guessed, so SHA-256 without salt or stretching is enough to store them by.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use rand::{Rng, RngCore, distr::Alphanumeric};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Value of a session's cookie. Has no `Debug` or `Display`, so that it cannot get into a log.
#[derive(Clone)]
pub struct SessionToken(String);

impl SessionToken {
    pub(crate) fn generate() -> Self {
        Self(generate())
    }

    /// Only for the `Set-Cookie` header.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// The key of `HEADGATE_ADMIN_API_KEY`, kept as its hash.
#[derive(Clone)]
pub struct AdminKey([u8; 32]);

impl AdminKey {
    /// The fewest characters.
    pub const MIN_CHARS: usize = 32;

    /// `None` unless the key has 32 or more characters, all of them visible ASCII.
    #[must_use]
    pub fn new(key: &str) -> Option<Self> {
        let is_valid = key.len() >= Self::MIN_CHARS && key.bytes().all(|b| b.is_ascii_graphic());
        is_valid.then(|| Self(hash(key)))
    }

    pub(crate) fn is(&self, key: &str) -> bool {
        is_same(&self.0, &hash(key))
    }
}

/// 256 random bits, as base64url.
pub(crate) fn generate() -> String {
    let mut bytes = [0; 32];
    rand::rng().fill_bytes(&mut bytes);
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Random letters and digits, 5.95 bits each.
pub(crate) fn alphanumeric(length: usize) -> String {
    rand::rng().sample_iter(Alphanumeric).take(length).map(char::from).collect()
}

pub(crate) fn hash(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// In constant time.
pub(crate) fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.ct_eq(other).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_admin_key_is_long_and_visible() {
        let key = "k".repeat(32);
        let admin = AdminKey::new(&key).unwrap();
        assert!(admin.is(&key) && !admin.is("") && !admin.is(&"k".repeat(33)));
        for bad in [&"k".repeat(31), &format!("{} {}", "k".repeat(16), "k".repeat(16)), &"ü".repeat(32)] {
            assert!(AdminKey::new(bad).is_none());
        }
    }

    #[test]
    fn tokens_do_not_repeat() {
        assert_ne!(generate(), generate());
        assert_eq!(generate().len(), 43);
        assert_eq!(alphanumeric(43).len(), 43);
    }
}
