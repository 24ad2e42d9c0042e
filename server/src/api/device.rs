//! Device cookies (OWASP): a device that has signed in to an account before has sign-in attempts of its own, so somebody who guesses at the
//! account's password from elsewhere, or from the same network, uses up none of them.
//!
//! The cookie is encrypted for one account and gives no access: it only proves that its holder knew the password once.

use crate::middleware::is_https;
use axum::http::HeaderMap;
use axum_extra::extract::cookie::{Cookie, CookieJar, SameSite};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use service::{MasterKey, Place};
use sha2::{Digest, Sha256};
use uuid::Uuid;

const OVER_HTTPS: &str = "__Host-headgate-device";
const OVER_HTTP: &str = "headgate-device";

/// The device of a request, if it has signed in to the account before.
pub(super) fn device_of(headers: &HeaderMap, email: &str, key: &MasterKey) -> Option<Uuid> {
    let jar = CookieJar::from_headers(headers);
    let sealed = URL_SAFE_NO_PAD.decode(jar.get(name(headers))?.value()).ok()?;
    Uuid::from_slice(&key.open(place(email), &sealed).ok()?.into_exposed()).ok()
}

/// The cookie that identifies the device next time; `None` if it could not be encrypted.
pub(super) fn cookie(
    headers: &HeaderMap,
    email: &str,
    device: Uuid,
    key: &MasterKey,
) -> Option<Cookie<'static>> {
    let sealed = key.seal(place(email), device.as_bytes()).ok()?;
    let mut cookie = Cookie::new(name(headers), URL_SAFE_NO_PAD.encode(sealed));
    cookie.set_path("/");
    cookie.set_http_only(true);
    cookie.set_same_site(SameSite::Strict);
    cookie.set_secure(is_https(headers));
    cookie.make_permanent();
    Some(cookie)
}

fn name(headers: &HeaderMap) -> &'static str {
    if is_https(headers) { OVER_HTTPS } else { OVER_HTTP }
}

/// Where the sealed device belongs: it decrypts for its own account only.
fn place(email: &str) -> Place {
    let digest: [u8; 32] = Sha256::digest(email.to_lowercase()).into();
    let mut row = [0; 16];
    row.copy_from_slice(&digest[..16]);
    Place { table: "users", row: Uuid::from_bytes(row), column: "device" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderValue, header};

    #[test]
    fn a_device_is_recognised_for_the_account_it_signed_in_to() {
        let (key, device) = (MasterKey::generate(), Uuid::now_v7());
        let cookie = cookie(&HeaderMap::new(), "Ada@example.test", device, &key).unwrap();
        let pair = format!("{}={}", cookie.name(), cookie.value());
        let headers = HeaderMap::from_iter([(header::COOKIE, HeaderValue::from_str(&pair).unwrap())]);
        assert_eq!(device_of(&headers, "ada@example.test", &key), Some(device));
        assert_eq!(device_of(&headers, "eve@example.test", &key), None);
        assert_eq!(device_of(&headers, "ada@example.test", &MasterKey::generate()), None);
        assert_eq!(device_of(&HeaderMap::new(), "ada@example.test", &key), None);
    }
}
