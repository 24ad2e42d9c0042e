//! Standard Webhooks 1.0.0: `v1,` and the base64 of HMAC-SHA256 over `{webhook-id}.{webhook-timestamp}.{body}`.
//!
//! The key is the decoded part after `whsec_`. While a secret is rotated, both signatures are sent, separated by a space; a receiver
//! accepts any that matches.

use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, Mac};
use rand::RngCore;
use sha2::Sha256;

use crate::secrets::Secret;

/// Prefix of a secret's text.
pub(crate) const SECRET_PREFIX: &str = "whsec_";
/// Bytes of a new secret: the standard asks for 24 to 64.
const SECRET_BYTES: usize = 32;

/// The key of one integration's signatures.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SigningSecret(Secret<Vec<u8>>);

impl SigningSecret {
    /// A new random one.
    #[must_use]
    pub(crate) fn generate() -> Self {
        let mut key = vec![0; SECRET_BYTES];
        rand::rng().fill_bytes(&mut key);
        Self(Secret::new(key))
    }

    /// From the decrypted bytes.
    #[must_use]
    pub(crate) fn from_bytes(key: Secret<Vec<u8>>) -> Self {
        Self(key)
    }

    /// The key's bytes, to be encrypted.
    #[must_use]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.0.expose()
    }

    /// The secret's text, which is shown once: `whsec_` and base64.
    #[must_use]
    pub(crate) fn shown(&self) -> String {
        format!("{SECRET_PREFIX}{}", STANDARD.encode(self.as_bytes()))
    }

    fn sign(&self, content: &[&[u8]]) -> String {
        // HMAC takes keys of any length; the error type exists for other MACs.
        let mut mac = Hmac::<Sha256>::new_from_slice(self.as_bytes()).expect("HMAC takes keys of any length");
        for part in content {
            mac.update(part);
        }
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

/// The value of `webhook-signature`: one signature for each secret, newest first.
#[must_use]
pub(crate) fn sign(secrets: &[SigningSecret], webhook_id: &str, timestamp: i64, body: &[u8]) -> String {
    let timestamp = timestamp.to_string();
    let content = [webhook_id.as_bytes(), b".", timestamp.as_bytes(), b".", body];
    secrets.iter().map(|secret| secret.sign(&content)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(shown: &str) -> SigningSecret {
        let key = STANDARD.decode(shown.strip_prefix(SECRET_PREFIX).unwrap()).unwrap();
        SigningSecret::from_bytes(Secret::new(key))
    }

    #[test]
    fn the_published_vector_is_reproduced() {
        let secrets = [secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")];
        let signed =
            sign(&secrets, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn both_signatures_are_sent_while_a_secret_is_rotated() {
        let (new, old) = (SigningSecret::generate(), SigningSecret::generate());
        let both = sign(&[new.clone(), old.clone()], "id", 1, b"x");
        let (first, second) = both.split_once(' ').unwrap();
        assert_eq!((first, second), (&*sign(&[new], "id", 1, b"x"), &*sign(&[old], "id", 1, b"x")));
    }

    #[test]
    fn a_shown_secret_has_the_standards_form_and_reads_back() {
        let new = SigningSecret::generate();
        let shown = new.shown();
        assert!(shown.starts_with("whsec_") && new.as_bytes().len() == 32);
        assert!(secret(&shown) == new);
    }
}
