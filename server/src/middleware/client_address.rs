//! The client's network address, and whether it uses https.
//!
//! Anybody can send `x-forwarded-for` and `x-forwarded-proto`, so they count only when the connection comes from a trusted proxy: one on this
//! machine, or in `HEADGATE_TRUSTED_PROXIES`.

use axum::extract::{ConnectInfo, Request};
use axum::http::{HeaderMap, HeaderName};
use ipnet::IpNet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Trusted proxies: those on this machine, and the configured ones.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies(Arc<[IpNet]>);

impl TrustedProxies {
    #[must_use]
    pub fn new(networks: &[IpNet]) -> Self {
        Self(networks.into())
    }

    #[must_use]
    pub fn contain(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        peer.is_loopback() || self.0.iter().any(|network| network.contains(&peer))
    }
}

/// The client's network address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientAddress(pub IpAddr);

impl ClientAddress {
    /// The address of the connection, or the one a trusted proxy names. Forwarding headers from anybody else are removed, so that no later code
    /// trusts them.
    pub(crate) fn of(request: &mut Request, proxies: &TrustedProxies) -> Self {
        let peer = request
            .extensions()
            .get::<ConnectInfo<SocketAddr>>()
            .map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |ConnectInfo(peer)| peer.ip().to_canonical());
        if proxies.contain(peer) {
            return Self(forwarded(request.headers(), proxies).unwrap_or(peer));
        }
        for name in [X_FORWARDED_FOR, X_FORWARDED_PROTO] {
            request.headers_mut().remove(name);
        }
        Self(peer)
    }
}

/// The nearest address that is not a trusted proxy's: each entry was written by the proxy after it.
fn forwarded(headers: &HeaderMap, proxies: &TrustedProxies) -> Option<IpAddr> {
    let values = headers.get_all(X_FORWARDED_FOR).iter().rev();
    let mut nearest = None;
    for entry in values.flat_map(|value| value.to_str().unwrap_or_default().rsplit(',')) {
        let Some(address) = address(entry.trim()) else { break };
        nearest = Some(address);
        if !proxies.contain(address) {
            break;
        }
    }
    nearest
}

/// Some proxies write the port too.
fn address(entry: &str) -> Option<IpAddr> {
    let bare = entry.strip_prefix('[').and_then(|entry| entry.strip_suffix(']')).unwrap_or(entry);
    let address = bare.parse().ok().or_else(|| entry.parse::<SocketAddr>().ok().map(|address| address.ip()));
    address.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn request(peer: &str, forwarded: &[&str]) -> Request {
        let builder = Request::get("/").header(X_FORWARDED_PROTO, "https");
        let builder =
            forwarded.iter().fold(builder, |builder, value| builder.header(X_FORWARDED_FOR, *value));
        let mut request = builder.body(Body::empty()).unwrap();
        request.extensions_mut().insert(ConnectInfo(SocketAddr::new(peer.parse().unwrap(), 1)));
        request
    }

    #[test]
    fn only_trusted_proxies_name_the_client() {
        let proxies = TrustedProxies::new(&["10.1.0.0/16".parse().unwrap(), "fd00::/8".parse().unwrap()]);
        for (peer, forwarded, client) in [
            ("203.0.113.9", &["198.51.100.1"][..], "203.0.113.9"),
            ("10.2.0.1", &["198.51.100.1"], "10.2.0.1"),
            ("127.0.0.1", &["1.1.1.1, 198.51.100.1"], "198.51.100.1"),
            ("::ffff:127.0.0.1", &["nonsense"], "127.0.0.1"),
            ("10.1.2.3", &["1.1.1.1, 198.51.100.1"], "198.51.100.1"),
            ("::ffff:10.1.2.3", &["198.51.100.1"], "198.51.100.1"),
            ("fd00::1", &["2001:db8::7"], "2001:db8::7"),
            // A chain of proxies, in one header or several; what comes before the client's address was sent by the client itself.
            ("10.1.2.3", &["1.1.1.1, 198.51.100.1, 10.1.9.9"], "198.51.100.1"),
            ("10.1.2.3", &["1.1.1.1", "198.51.100.1", "10.1.9.9, 127.0.0.1"], "198.51.100.1"),
            ("10.1.2.3", &["10.1.9.9"], "10.1.9.9"),
            ("10.1.2.3", &["198.51.100.1, nonsense, 10.1.9.9"], "10.1.9.9"),
            ("10.1.2.3", &["198.51.100.1:4711"], "198.51.100.1"),
            ("10.1.2.3", &["[2001:db8::7]:4711"], "2001:db8::7"),
            ("10.1.2.3", &["[2001:db8::7]"], "2001:db8::7"),
            ("10.1.2.3", &[], "10.1.2.3"),
        ] {
            let mut request = request(peer, forwarded);
            assert_eq!(
                ClientAddress::of(&mut request, &proxies).0.to_string(),
                client,
                "{peer} {forwarded:?}"
            );
        }
    }

    #[test]
    fn forwarding_headers_of_others_are_removed() {
        let proxies = TrustedProxies::new(&["10.1.0.0/16".parse().unwrap()]);
        for (peer, is_trusted) in [("203.0.113.9", false), ("10.1.0.1", true), ("127.0.0.1", true)] {
            let mut request = request(peer, &["198.51.100.1"]);
            ClientAddress::of(&mut request, &proxies);
            for name in [X_FORWARDED_FOR, X_FORWARDED_PROTO] {
                assert_eq!(request.headers().contains_key(&name), is_trusted, "{peer} {name}");
            }
        }
    }
}
