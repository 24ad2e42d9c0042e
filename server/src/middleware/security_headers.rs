//! Security headers of every answer. The console's pages have a content security policy with their nonce; everything else gets the strictest.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use std::net::IpAddr;

const STRICTEST_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

pub(crate) async fn safe_headers(request: Request, next: Next) -> Response {
    let is_https = is_https(request.headers());
    let is_trusted = is_https || is_loopback(request.headers());
    let mut response = next.run(request).await;
    let is_page = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"text/html"));
    let headers = response.headers_mut();
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, referrer_policy(is_page, is_trusted)),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    if !is_page {
        headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(STRICTEST_POLICY);
    }
    if is_https {
        let year = HeaderValue::from_static("max-age=31536000");
        headers.entry(header::STRICT_TRANSPORT_SECURITY).or_insert(year);
    }
    response
}

/// `no-referrer` where possible. But a page with it posts its forms with `Origin: null`, and browsers send `Sec-Fetch-Site` only over https and to
/// loopback addresses. Over plain http in a network nothing would be left to recognise our own forms by, so there pages send the referrer, to us only.
fn referrer_policy(is_page: bool, is_trusted: bool) -> &'static str {
    if is_page && !is_trusted { "same-origin" } else { "no-referrer" }
}

/// Whether browsers trust the connection even with plain http.
fn is_loopback(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name =
        host.rsplit_once(':').map_or(host, |(name, port)| if port.contains(']') { host } else { name });
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost"
        || name.ends_with(".localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether the client uses https, by the header of a trusted proxy: the headers of others are removed ([`super::ClientAddress`]).
pub(crate) fn is_https(headers: &HeaderMap) -> bool {
    headers.get("x-forwarded-proto").is_some_and(|proto| proto.as_bytes().eq_ignore_ascii_case(b"https"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_trusted_without_https() {
        for (host, is_trusted) in [
            ("localhost:3000", true),
            ("gate.localhost", true),
            ("127.0.0.1:3000", true),
            ("[::1]:3000", true),
            ("[::1]", true),
            ("192.168.0.7:3000", false),
            ("gate.example.test", false),
            ("localhost.example.test:80", false),
        ] {
            let headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]);
            assert_eq!(is_loopback(&headers), is_trusted, "{host}");
        }
        assert_eq!(referrer_policy(true, false), "same-origin");
        assert_eq!(referrer_policy(true, true), "no-referrer");
    }
}
