//! Where a delivery may go (SSRF: OWASP ASVS 5.0.0 1.3.6).
//!
//! An address is judged where the socket connects, not by the text of the URL: a literal address here, a name by the resolver of
//! [`super::client`], at every send, and when an integration is created. One forbidden address among those a name resolves to refuses
//! all of them: mixed answers are how DNS rebinding begins. All refusals have the same message, so that it does not reveal open and closed
//! ports of the internal network.

mod ranges;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use url::{Host, Url};

use super::open_files;

/// How long a name may take to resolve when an integration is created.
const RESOLVE_DEADLINE: Duration = Duration::from_secs(3);

/// The one error for all refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the address is not allowed: deliveries go to public addresses over https, or to what HEADGATE_ALLOWED_TARGETS names; \
     plain http to public addresses needs HEADGATE_ALLOW_HTTP"
)]
pub struct Refused;

/// Decides which addresses requests may go to.
#[derive(Clone, Debug)]
pub struct TargetGuard {
    allowed: Arc<[IpNet]>,
    allow_http: bool,
}

/// How a request to a judged URL travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// TLS, to any address that is not forbidden.
    Tls,
    /// Plain http, to allowed targets; to public addresses as well when the deployment allows it.
    Plain,
}

impl TargetGuard {
    /// `allowed`: networks that may be reached although they are not public. `allow_http`: plain http to public addresses.
    #[must_use]
    pub fn new(allowed: Vec<IpNet>, allow_http: bool) -> Self {
        Self { allowed: allowed.into(), allow_http }
    }

    /// Judges all that can be judged without resolving a name: scheme, userinfo, a literal address.
    ///
    /// # Errors
    /// `Refused`.
    pub fn judge_url(&self, url: &Url) -> Result<Transport, Refused> {
        let transport = match url.scheme() {
            "https" => Transport::Tls,
            "http" if self.allow_http || !self.allowed.is_empty() => Transport::Plain,
            _ => return Err(Refused),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refused);
        }
        match url.host().ok_or(Refused)? {
            // The resolver is never asked about a literal address: it is judged here or nowhere.
            Host::Ipv4(ip) => self.judge_addresses(&[IpAddr::V4(ip)], transport)?,
            Host::Ipv6(ip) => self.judge_addresses(&[IpAddr::V6(ip)], transport)?,
            Host::Domain(name) if name.trim_end_matches('.').is_empty() => return Err(Refused),
            Host::Domain(_) => {}
        }
        Ok(transport)
    }

    /// Judges what a name resolved to, or a literal address: one forbidden address refuses all.
    ///
    /// # Errors
    /// `Refused`.
    pub fn judge_addresses(&self, addresses: &[IpAddr], transport: Transport) -> Result<(), Refused> {
        let holds = addresses.iter().all(|ip| {
            let is_named = ranges::is_allowed(&self.allowed, *ip);
            is_named || ranges::is_public(*ip) && (transport == Transport::Tls || self.allow_http)
        });
        if holds && !addresses.is_empty() { Ok(()) } else { Err(Refused) }
    }

    /// The addresses of a name that may be connected to. `localhost` means the loopback of both families by definition (RFC 6761), so its
    /// allowed ones are kept; for every other name one forbidden address refuses all.
    ///
    /// # Errors
    /// `Refused`.
    pub fn admit(
        &self,
        name: &str,
        mut resolved: Vec<SocketAddr>,
        transport: Transport,
    ) -> Result<Vec<SocketAddr>, Refused> {
        if is_localhost(name) {
            resolved.retain(|address| self.judge_addresses(&[address.ip()], transport).is_ok());
        }
        let ips: Vec<IpAddr> = resolved.iter().map(SocketAddr::ip).collect();
        self.judge_addresses(&ips, transport)?;
        Ok(resolved)
    }

    /// Judges the address of an integration when it is created or changed. A name that does not resolve now is accepted over https, since each
    /// send judges again. Over plain http it is refused, unless the setting allows plain http to all public addresses: it has to resolve to an
    /// allowed target.
    ///
    /// # Errors
    /// `Refused`.
    pub async fn judge_endpoint(&self, text: &str) -> Result<(), Refused> {
        let url = parse(text)?;
        let transport = self.judge_url(&url)?;
        let Some(Host::Domain(name)) = url.host() else { return Ok(()) };
        let port = url.port_or_known_default().ok_or(Refused)?;
        match tokio::time::timeout(RESOLVE_DEADLINE, resolve(name, port)).await {
            Ok(Ok(resolved)) if !resolved.is_empty() => self.admit(name, resolved, transport).map(|_| ()),
            _ if transport == Transport::Tls || self.allow_http => Ok(()),
            _ => Err(Refused),
        }
    }
}

/// Resolves a name. `localhost` is not looked up: it is the loopback in any spelling, whatever a name server says.
pub(super) async fn resolve(name: &str, port: u16) -> std::io::Result<Vec<SocketAddr>> {
    if is_localhost(name) {
        let loopback: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        return Ok(loopback.map(|ip| SocketAddr::new(ip, port)).to_vec());
    }
    let resolved = tokio::net::lookup_host((name, port)).await.map_err(open_files::cause_of)?;
    Ok(resolved.collect())
}

fn is_localhost(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

/// Parses a URL; all parts of this crate use this function.
///
/// # Errors
/// `Refused` for anything else.
pub(crate) fn parse(text: &str) -> Result<Url, Refused> {
    if text.chars().any(char::is_control) {
        return Err(Refused);
    }
    Url::parse(text).map_err(|_| Refused)
}

#[cfg(test)]
mod tests;
