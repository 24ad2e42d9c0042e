//! Where a delivery may go (SSRF: OWASP ASVS 5.0.0 1.3.6).
//!
//! An address is judged where the socket connects, not by the text of the URL: a literal address here, a name by the resolver of
//! [`super::client`], at every send, and when an integration is made. Any forbidden address among those a name resolves to refuses
//! all of them: mixed answers are how rebinding begins. One message stands for every refusal, so that nobody can tell an open port
//! from a closed one inside.

mod ranges;

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use ipnet::IpNet;
use url::{Host, Url};

use super::open_files;

/// How long a name may take to resolve when an integration is made.
const RESOLVE_DEADLINE: Duration = Duration::from_secs(3);

/// The one refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the address is not allowed: deliveries go to public addresses over https, or to what HEADGATE_ALLOWED_TARGETS names; \
     plain http to public addresses needs HEADGATE_ALLOW_HTTP"
)]
pub struct Refused;

/// Judges addresses.
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
    /// Plain http: to allowed targets, or to public addresses too when the deployment says so.
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
    /// The one refusal.
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
    /// The one refusal.
    pub fn judge_addresses(&self, addresses: &[IpAddr], transport: Transport) -> Result<(), Refused> {
        let holds = addresses.iter().all(|ip| {
            let is_named = ranges::is_allowed(&self.allowed, *ip);
            is_named || ranges::is_public(*ip) && (transport == Transport::Tls || self.allow_http)
        });
        if holds && !addresses.is_empty() { Ok(()) } else { Err(Refused) }
    }

    /// What may be connected to of what a name resolved to. `localhost` means the loopback of both families by definition (RFC 6761), so
    /// there the allowed ones are kept; for every other name one forbidden address refuses all.
    ///
    /// # Errors
    /// The one refusal.
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

    /// Judges the address of an integration when it is made or changed. A name that does not resolve now is accepted over https: each send
    /// judges again. Over plain http it is not, unless the setting opens that to everybody: it has to be an allowed target.
    ///
    /// # Errors
    /// The one refusal.
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

/// What a name stands for. `localhost` is not looked up: it is the loopback in any spelling, whatever a name server says.
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

/// Reads a URL as every part of this crate reads it.
///
/// # Errors
/// The one refusal, when it is none.
pub fn parse(text: &str) -> Result<Url, Refused> {
    if text.chars().any(char::is_control) {
        return Err(Refused);
    }
    Url::parse(text).map_err(|_| Refused)
}

#[cfg(test)]
mod tests;
