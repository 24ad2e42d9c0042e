//! The network address of the one who asks.
//!
//! `x-forwarded-for` is anybody's to write, so it counts only when the connection comes from this very machine, where a reverse proxy
//! stands: then its last entry is what the proxy saw.

use axum::{
    extract::{ConnectInfo, Request},
    http::HeaderMap,
};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The network address of the one who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientAddress(pub IpAddr);

/// Proxies that are believed: those on this very machine.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies;

impl TrustedProxies {
    /// Whether it is one of them.
    #[must_use]
    pub fn contain(&self, peer: IpAddr) -> bool {
        peer.to_canonical().is_loopback()
    }
}

impl ClientAddress {
    pub(crate) fn of(request: &Request) -> Self {
        let peer = request
            .extensions()
            .get::<ConnectInfo<SocketAddr>>()
            .map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |ConnectInfo(peer)| peer.ip().to_canonical());
        Self(if peer.is_loopback() { forwarded(request.headers()).unwrap_or(peer) } else { peer })
    }
}

fn forwarded(headers: &HeaderMap) -> Option<IpAddr> {
    let last =
        headers.get_all("x-forwarded-for").iter().next_back()?.to_str().ok()?.rsplit(',').next()?.trim();
    last.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn address(peer: &str, forwarded: &str) -> String {
        let mut request = Request::get("/").header("x-forwarded-for", forwarded).body(Body::empty()).unwrap();
        request.extensions_mut().insert(ConnectInfo(SocketAddr::new(peer.parse().unwrap(), 1)));
        ClientAddress::of(&request).0.to_string()
    }

    #[test]
    fn only_a_proxy_on_this_machine_is_believed() {
        assert_eq!(address("203.0.113.9", "198.51.100.1"), "203.0.113.9");
        assert_eq!(address("127.0.0.1", "1.1.1.1, 198.51.100.1"), "198.51.100.1");
        assert_eq!(address("::ffff:127.0.0.1", "nonsense"), "127.0.0.1");
    }
}
