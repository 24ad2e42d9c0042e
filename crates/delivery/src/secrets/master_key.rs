//! The key of `HEADGATE_MASTER_KEY`: XChaCha20-Poly1305 with a random nonce for every value.
//!
//! A sealed value is `key id (1 byte) · nonce (24) · ciphertext and tag`. The key id is the first byte of the key's SHA-256: it
//! distinguishes a value sealed with another key from a damaged one, and a rotation can find what it still has to re-encrypt.

use base64::{Engine, alphabet, engine};
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use rand::RngCore;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::Secret;

const NONCE_BYTES: usize = 24;

/// Accepts base64 with and without padding, as people paste it.
const BASE64: engine::GeneralPurpose = engine::GeneralPurpose::new(
    &alphabet::STANDARD,
    engine::GeneralPurposeConfig::new().with_decode_padding_mode(engine::DecodePaddingMode::Indifferent),
);

/// Encrypts and decrypts ("seals" and "opens") values that the database alone must not reveal.
#[derive(Clone)]
pub struct MasterKey {
    id: u8,
    key: Secret<[u8; 32]>,
}

/// Where a sealed value is stored: part of what is authenticated.
#[derive(Clone, Copy)]
pub struct Place {
    /// The table.
    pub table: &'static str,
    /// The row's id.
    pub row: Uuid,
    /// The column.
    pub column: &'static str,
}

impl Place {
    fn associated_data(self) -> String {
        format!("{}|{}|{}", self.table, self.row, self.column)
    }
}

/// Why a master key cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be 32 bytes in base64, for example the output of: openssl rand -base64 32")]
pub struct MasterKeyError;

/// Why a sealed value cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// It was sealed with another key.
    #[error(
        "was sealed with another master key: HEADGATE_MASTER_KEY is not the one this database was filled with"
    )]
    OtherKey,
    /// Damaged, or sealed for another place.
    #[error("is damaged or was sealed for another row")]
    Damaged,
    /// The cipher refused (a value beyond its length limit).
    #[error("cannot be sealed")]
    NotSealed,
}

impl MasterKey {
    /// Reads `HEADGATE_MASTER_KEY`.
    ///
    /// # Errors
    /// When it is not the base64 of 32 bytes.
    pub fn from_base64(text: &str) -> Result<Self, MasterKeyError> {
        let bytes = BASE64.decode(text.trim()).map_err(|_| MasterKeyError)?;
        bytes.try_into().map(Self::from_bytes).map_err(|_| MasterKeyError)
    }

    /// A new random key.
    #[must_use]
    pub fn generate() -> Self {
        let mut key = [0; 32];
        rand::rng().fill_bytes(&mut key);
        Self::from_bytes(key)
    }

    fn from_bytes(key: [u8; 32]) -> Self {
        Self { id: Sha256::digest(key)[0], key: Secret::new(key) }
    }

    /// The key as the setting takes it; only for the file in the data directory.
    #[must_use]
    pub fn to_base64(&self) -> Secret<String> {
        Secret::new(BASE64.encode(self.key.expose()))
    }

    /// Seals a value for one place.
    ///
    /// # Errors
    /// When the value is longer than the cipher takes (hundreds of gigabytes).
    pub fn seal(&self, place: Place, value: &[u8]) -> Result<Vec<u8>, SealError> {
        let mut nonce = [0; NONCE_BYTES];
        rand::rng().fill_bytes(&mut nonce);
        let aad = place.associated_data();
        let sealed = self
            .cipher()
            .encrypt(XNonce::from_slice(&nonce), Payload { msg: value, aad: aad.as_bytes() })
            .map_err(|_| SealError::NotSealed)?;
        Ok([&[self.id][..], &nonce, &sealed].concat())
    }

    /// Opens what [`Self::seal`] made for the same place.
    ///
    /// # Errors
    /// `OtherKey`; `Damaged` for a changed byte or another place.
    pub fn open(&self, place: Place, sealed: &[u8]) -> Result<Secret<Vec<u8>>, SealError> {
        let (&id, rest) = sealed.split_first().ok_or(SealError::Damaged)?;
        if id != self.id {
            return Err(SealError::OtherKey);
        }
        let (nonce, sealed) = rest.split_at_checked(NONCE_BYTES).ok_or(SealError::Damaged)?;
        let aad = place.associated_data();
        self.cipher()
            .decrypt(XNonce::from_slice(nonce), Payload { msg: sealed, aad: aad.as_bytes() })
            .map(Secret::new)
            .map_err(|_| SealError::Damaged)
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(self.key.expose().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(row: Uuid) -> Place {
        Place { table: "integrations", row, column: "signing_secret_sealed" }
    }

    #[test]
    fn a_sealed_value_opens_in_its_own_place_alone() {
        let key = MasterKey::generate();
        let (own, other) = (Uuid::now_v7(), Uuid::now_v7());
        let sealed = key.seal(place(own), b"whsec").unwrap();
        assert_eq!(key.open(place(own), &sealed).ok().unwrap().expose(), b"whsec");
        assert_eq!(key.open(place(other), &sealed).err(), Some(SealError::Damaged));
        let column = Place { column: "credentials_sealed", ..place(own) };
        assert_eq!(key.open(column, &sealed).err(), Some(SealError::Damaged));
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        let key = MasterKey::generate();
        let row = Uuid::now_v7();
        let sealed = key.seal(place(row), b"secret").unwrap();
        for index in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[index] ^= 1;
            assert!(key.open(place(row), &changed).is_err(), "byte {index}");
        }
        assert!(key.open(place(row), &sealed[..10]).is_err() && key.open(place(row), &[]).is_err());
    }

    #[test]
    fn the_same_value_is_never_sealed_the_same_way_twice() {
        let key = MasterKey::generate();
        let row = Uuid::now_v7();
        assert_ne!(key.seal(place(row), b"x").unwrap(), key.seal(place(row), b"x").unwrap());
    }

    #[test]
    fn keys_are_read_as_people_paste_them() {
        let key = MasterKey::generate();
        let text = key.to_base64().into_exposed();
        for form in [text.clone(), format!(" {text}\n"), text.trim_end_matches('=').to_owned()] {
            let read = MasterKey::from_base64(&form).ok().unwrap();
            assert!(read.to_base64() == key.to_base64());
        }
        for wrong in ["", "short", "!!!!", &text[..20]] {
            assert!(MasterKey::from_base64(wrong).is_err(), "{wrong}");
        }
    }
}
