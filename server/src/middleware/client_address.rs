//! The network address of the one who asks, and whether that one speaks https.
//!
//! `x-forwarded-for` and `x-forwarded-proto` are anybody's to write, so they count only when the connection comes from a proxy that is trusted:
//! one on this very machine, or in `HEADGATE_TRUSTED_PROXIES`.

use axum::{
    extract::{ConnectInfo, Request},
    http::{HeaderMap, HeaderName},
};
use ipnet::IpNet;
use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Proxies that are believed: those on this very machine, and those that were named.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies(Arc<[IpNet]>);

impl TrustedProxies {
    /// Those of these networks as well.
    #[must_use]
    pub fn new(networks: &[IpNet]) -> Self {
        Self(networks.into())
    }

    /// Whether it is one of them.
    #[must_use]
    pub fn contain(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        peer.is_loopback() || self.0.iter().any(|network| network.contains(&peer))
    }
}

/// The network address of the one who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientAddress(pub IpAddr);

impl ClientAddress {
    /// As the connection or a trusted proxy says. What anybody else says of it is taken away: nobody further in is to believe it.
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

/// The first address, from the nearest on, that is not a trusted proxy's: each entry was written by the one behind it.
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
    fn trusted_proxies_alone_are_believed() {
        let proxies = TrustedProxies::new(&["10.1.0.0/16".parse().unwrap(), "fd00::/8".parse().unwrap()]);
        for (peer, forwarded, client) in [
            ("203.0.113.9", &["198.51.100.1"][..], "203.0.113.9"),
            ("10.2.0.1", &["198.51.100.1"], "10.2.0.1"),
            ("127.0.0.1", &["1.1.1.1, 198.51.100.1"], "198.51.100.1"),
            ("::ffff:127.0.0.1", &["nonsense"], "127.0.0.1"),
            ("10.1.2.3", &["1.1.1.1, 198.51.100.1"], "198.51.100.1"),
            ("::ffff:10.1.2.3", &["198.51.100.1"], "198.51.100.1"),
            ("fd00::1", &["2001:db8::7"], "2001:db8::7"),
            // A chain of them, in one header or several; what stands before the client is the client's own word.
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
    fn what_others_say_of_themselves_goes_no_further() {
        let proxies = TrustedProxies::new(&["10.1.0.0/16".parse().unwrap()]);
        for (peer, is_believed) in [("203.0.113.9", false), ("10.1.0.1", true), ("127.0.0.1", true)] {
            let mut request = request(peer, &["198.51.100.1"]);
            ClientAddress::of(&mut request, &proxies);
            for name in [X_FORWARDED_FOR, X_FORWARDED_PROTO] {
                assert_eq!(request.headers().contains_key(&name), is_believed, "{peer} {name}");
            }
        }
    }
}
