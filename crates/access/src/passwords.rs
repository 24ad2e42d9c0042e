//! Which passwords are accepted, and how they are hashed.
//!
//! The rules are those of ASVS 5.0 (6.2): a length, no composition rules, none of the common ones. Argon2id with the crate's defaults (19 MiB, two
//! passes, one lane). A hash takes tens of milliseconds of a core, so it runs on the blocking pool, at most two at a time: many sign-ins at once
//! must not starve the API.

use crate::error::AccessError;
use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use model::{limits::PASSWORD_CHARS, problem::Faults};
use std::{sync::Arc, time::Duration};
use tokio::sync::Semaphore;

/// The most common passwords of 8 characters and more, lower case, one a line.
const COMMON: &str = include_str!("common_passwords.txt");

/// Verified against for unknown users, so that they take as long as known ones.
const DUMMY: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$c29tZS1zYWx0LTAwMDE$dyjJCFBRgrCSZAk6ux/0kpwKLJcFkRfBbRKX5C3JH9s";

/// # Errors
/// One fault at `pointer`: too short, too long, or one of the most common ones.
pub fn check_password(password: &str, email: &str, pointer: &str) -> Result<(), Faults> {
    let mut faults = Faults::default();
    let length = password.chars().count();
    if !PASSWORD_CHARS.contains(&length) {
        faults.add(pointer, "must be 8 to 128 characters");
    } else if is_common(password, email) {
        faults.add(
            pointer,
            "is one of the most common passwords or made of the e-mail address: choose another",
        );
    }
    faults.into_result()
}

fn is_common(password: &str, email: &str) -> bool {
    let lower = password.to_lowercase();
    let mut chars = lower.chars();
    let is_one_character = chars.next().is_some_and(|first| chars.all(|c| c == first));
    let local = email.split('@').next().unwrap_or_default().to_lowercase();
    is_one_character
        || lower == email.to_lowercase()
        || lower == local
        || COMMON.lines().any(|common| common == lower)
}

/// Hashes and verifies, two at a time.
#[derive(Clone)]
pub(crate) struct Hasher(Arc<Semaphore>);

impl Hasher {
    /// How long a sign-in waits for one of the two slots before it is refused with `TooMany`.
    const SLOT_TIMEOUT: Duration = Duration::from_secs(10);

    pub(crate) fn start() -> Self {
        Self(Arc::new(Semaphore::new(2)))
    }

    pub(crate) async fn hash(&self, password: String) -> Result<String, AccessError> {
        self.in_slot(move || {
            Argon2::default().hash_password(password.as_bytes()).map(|hash| hash.to_string())
        })
        .await?
        .map_err(|_| AccessError::Hashing)
    }

    /// Whether the password matches. Without a hash (an unknown user, or one without a password) it takes as long and is false.
    pub(crate) async fn verify(&self, password: String, hash: Option<String>) -> Result<bool, AccessError> {
        self.in_slot(move || {
            let real = hash.as_deref().and_then(|hash| PasswordHash::new(hash).ok());
            let is_real = real.is_some();
            let is_match = match real.map_or_else(|| PasswordHash::new(DUMMY), Ok) {
                Ok(hash) => Argon2::default().verify_password(password.as_bytes(), &hash).is_ok(),
                Err(_) => false,
            };
            is_match && is_real
        })
        .await
    }

    async fn in_slot<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, AccessError> {
        let slot = tokio::time::timeout(Self::SLOT_TIMEOUT, self.0.clone().acquire_owned())
            .await
            .ok()
            .and_then(Result::ok)
            .ok_or(AccessError::TooMany { retry_after: Duration::from_secs(5) })?;
        tokio::task::spawn_blocking(move || {
            // Kept by the work itself: a client that disconnects must not free the slot before the hash is done.
            let _slot = slot;
            work()
        })
        .await
        .map_err(|_| AccessError::Hashing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_long_and_common_passwords_are_refused() {
        let long = "x1".repeat(65);
        for (password, is_accepted) in [
            ("correct horse battery", true),
            ("pässwörter", true),
            ("1234567", false),
            (long.as_str(), false),
            ("Password1", false),
            ("zzzzzzzzzzz", false),
            ("ada@example.test", false),
            ("Qwertyuiop", false),
        ] {
            assert_eq!(
                check_password(password, "ada@example.test", "/password").is_ok(),
                is_accepted,
                "{password}"
            );
        }
    }

    #[tokio::test]
    async fn a_password_verifies_against_its_own_hash_alone() {
        let hasher = Hasher::start();
        let hash = hasher.hash("correct horse".into()).await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
        assert!(hasher.verify("correct horse".into(), Some(hash.clone())).await.unwrap());
        assert!(!hasher.verify("correct house".into(), Some(hash)).await.unwrap());
        assert!(!hasher.verify("correct horse".into(), None).await.unwrap());
    }

    #[test]
    fn the_dummy_costs_what_a_real_hash_costs() {
        let dummy = PasswordHash::new(DUMMY).unwrap();
        assert!(DUMMY.starts_with("$argon2id$v=19$m=19456,t=2,p=1$") && dummy.hash.is_some());
    }
}
