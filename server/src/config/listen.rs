//! Settings of the listener and of what is in front of it.

use super::{error::ConfigError, key::Key, read::networks, sources::Sources};
use ipnet::IpNet;
use model::instance::Instance;
use std::net::SocketAddr;

const LISTEN: Key = Key::with_default(
    "HEADGATE_LISTEN",
    "127.0.0.1:3000",
    "address of API and console",
    "an address and a port such as 127.0.0.1:3000 or [::]:3000",
);
const BASE_PATH: Key = Key::with_default(
    "HEADGATE_BASE_PATH",
    "/",
    "mount prefix behind a reverse proxy",
    "a path such as /headgate: letters, digits and - _ . ~ between slashes",
);

const TRUSTED_PROXIES: Key = Key::optional(
    "HEADGATE_TRUSTED_PROXIES",
    "proxies on other machines whose X-Forwarded-For and X-Forwarded-Proto are trusted",
    "a list of CIDRs such as 10.1.0.0/16,192.168.7.3/32,fd00::/8",
);

const INSTANCE: Key = Key::optional(
    "HEADGATE_INSTANCE",
    "name and colour of this deployment in the console's side bar, titles and icon",
    "a name of up to 40 characters, if wanted with a colour, such as production#c0392b",
);

pub(super) const KEYS: [&Key; 4] = [&LISTEN, &BASE_PATH, &TRUSTED_PROXIES, &INSTANCE];

#[derive(Clone, Debug)]
pub struct ListenSettings {
    /// Port 0 takes any free one.
    pub address: SocketAddr,
    /// `""` at the root, else `/prefix` without a trailing slash.
    pub base_path: String,
    /// In addition to those on this machine.
    pub trusted_proxies: Vec<IpNet>,
    pub instance: Option<Instance>,
}

impl ListenSettings {
    /// # Errors
    /// A bad value.
    pub fn read(sources: &Sources) -> Result<Self, ConfigError> {
        Ok(Self {
            address: sources.required(&LISTEN, address)?,
            base_path: sources.required(&BASE_PATH, base_path)?,
            trusted_proxies: sources.optional(&TRUSTED_PROXIES, networks)?.unwrap_or_default(),
            instance: sources.optional(&INSTANCE, |text| text.parse().ok())?,
        })
    }
}

fn address(text: &str) -> Option<SocketAddr> {
    // People type `localhost`, which is not an address to the parser.
    let text =
        text.strip_prefix("localhost:").map_or_else(|| text.to_owned(), |port| format!("127.0.0.1:{port}"));
    text.parse().ok()
}

fn base_path(text: &str) -> Option<String> {
    let inner = text.strip_prefix('/')?.trim_end_matches('/');
    let is_segment = |segment: &str| {
        !segment.is_empty()
            && segment != "."
            && segment != ".."
            && segment.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.~".contains(&b))
    };
    if inner.is_empty() {
        return Some(String::new());
    }
    inner.split('/').all(is_segment).then(|| format!("/{inner}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_read_and_refused() {
        for (given, read) in [
            ("/", Some("")),
            ("/headgate", Some("/headgate")),
            ("/a/b/", Some("/a/b")),
            ("headgate", None),
            ("/a//b", None),
            ("/a/../b", None),
            ("/{x}", None),
            ("/a b", None),
        ] {
            assert_eq!(base_path(given).as_deref(), read, "{given}");
        }
    }

    #[test]
    fn addresses_are_read_and_refused() {
        for (given, read) in [
            ("127.0.0.1:3000", Some("127.0.0.1:3000")),
            ("localhost:80", Some("127.0.0.1:80")),
            ("[::]:0", Some("[::]:0")),
            ("3000", None),
            (":3000", None),
            ("host:3000", None),
            ("1.2.3.4:99999", None),
        ] {
            assert_eq!(address(given).map(|address| address.to_string()).as_deref(), read, "{given}");
        }
    }
}
