//! Which addresses are public: by the IANA special-purpose registries, and some ranges that the lists of other senders lack.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::LazyLock;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// Not public, IPv4.
const FORBIDDEN_V4: [&str; 15] = [
    "0.0.0.0/8",       // this network
    "10.0.0.0/8",      // private
    "100.64.0.0/10",   // shared, carrier-grade NAT
    "127.0.0.0/8",     // loopback
    "169.254.0.0/16",  // link-local, cloud metadata
    "172.16.0.0/12",   // private
    "192.0.0.0/24",    // IETF protocol assignments
    "192.0.2.0/24",    // documentation
    "192.88.99.0/24",  // 6to4 relays
    "192.168.0.0/16",  // private
    "198.18.0.0/15",   // benchmarks
    "198.51.100.0/24", // documentation
    "203.0.113.0/24",  // documentation
    "224.0.0.0/4",     // multicast
    "240.0.0.0/4",     // reserved, broadcast
];

/// The IPv6 range that is assigned to the public; everything else is forbidden, whatever it may be used for later.
const GLOBAL_V6: &str = "2000::/3";

/// Not public although global unicast, IPv6. IPv4-mapped addresses are judged by the IPv4 address inside.
const FORBIDDEN_V6: [&str; 4] = [
    "2001::/23",     // IETF protocol assignments: Teredo, benchmarks, ORCHID
    "2001:db8::/32", // documentation
    "2002::/16",     // 6to4
    "3fff::/20",     // documentation
];

/// Forbidden unless an entry names exactly the address: a wide entry for a private network must not open a cloud's metadata service.
const NAMED_ONLY: [&str; 6] = [
    "169.254.0.0/16",     // link-local, metadata of most clouds
    "168.63.129.16/32",   // Azure's host
    "100.100.100.200/32", // Alibaba's metadata
    "fe80::/10",          // link-local
    "fd00:ec2::254/128",  // Amazon's metadata
    "fd20:ce::254/128",   // Google's metadata
];

struct Tables {
    v4: Vec<Ipv4Net>,
    global_v6: Ipv6Net,
    v6: Vec<Ipv6Net>,
    named_only: Vec<IpNet>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let sure = "the ranges of this file are well-formed";
    Tables {
        v4: FORBIDDEN_V4.iter().map(|net| net.parse().expect(sure)).collect(),
        global_v6: GLOBAL_V6.parse().expect(sure),
        v6: FORBIDDEN_V6.iter().map(|net| net.parse().expect(sure)).collect(),
        named_only: NAMED_ONLY.iter().map(|net| net.parse().expect(sure)).collect(),
    }
});

/// Whether an address belongs to the public internet.
pub(super) fn is_public(ip: IpAddr) -> bool {
    match canonical(ip) {
        IpAddr::V4(ip) => !is_named_only(IpAddr::V4(ip)) && !TABLES.v4.iter().any(|net| net.contains(&ip)),
        IpAddr::V6(ip) => TABLES.global_v6.contains(&ip) && !TABLES.v6.iter().any(|net| net.contains(&ip)),
    }
}

/// Whether an entry allows this address.
pub(super) fn is_allowed(allowed: &[IpNet], ip: IpAddr) -> bool {
    let ip = canonical(ip);
    let by_name = allowed.iter().any(|net| net.prefix_len() == net.max_prefix_len() && net.addr() == ip);
    let hides_named_only = embedded(ip).is_some_and(|inside| is_named_only(IpAddr::V4(inside)));
    by_name || !is_named_only(ip) && !hides_named_only && allowed.iter().any(|net| net.contains(&ip))
}

fn is_named_only(ip: IpAddr) -> bool {
    TABLES.named_only.iter().any(|net| net.contains(&ip))
}

/// `::ffff:a.b.c.d` is `a.b.c.d`.
fn canonical(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(ip, IpAddr::V4),
        IpAddr::V4(_) => ip,
    }
}

/// The IPv4 address that a translator would find in an IPv6 address: IPv4-compatible, IPv4-translated (RFC 2765), NAT64,
/// 6to4, Teredo.
fn embedded(ip: IpAddr) -> Option<Ipv4Addr> {
    let IpAddr::V6(ip) = ip else { return None };
    let s = ip.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match s {
        [0, 0, 0, 0, 0, 0, high, low] | [0x64, 0xff9b, _, _, _, _, high, low] => Some(v4(high, low)),
        [0, 0, 0, 0, 0xffff, 0, high, low] => Some(v4(high, low)),
        [0x2002, high, low, ..] => Some(v4(high, low)),
        [0x2001, 0, _, _, _, _, high, low] => Some(v4(!high, !low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv6Addr;

    /// The first and last address of every forbidden range, and the neighbours outside.
    #[test]
    fn ranges_end_where_the_registries_say() {
        let before = |ip: Ipv4Addr| u32::from(ip).checked_sub(1).map(Ipv4Addr::from);
        let after = |ip: Ipv4Addr| u32::from(ip).checked_add(1).map(Ipv4Addr::from);
        let is_forbidden = |ip: Ipv4Addr| TABLES.v4.iter().any(|net| net.contains(&ip));
        for net in &TABLES.v4 {
            assert!(!is_public(net.network().into()) && !is_public(net.broadcast().into()), "{net}");
            for outside in [before(net.network()), after(net.broadcast())].into_iter().flatten() {
                assert_eq!(is_public(outside.into()), !is_forbidden(outside), "{outside}");
            }
        }
        for net in &TABLES.v6 {
            let last = Ipv6Addr::from(u128::from(net.network()) | u128::from(net.hostmask()));
            assert!(!is_public(net.network().into()) && !is_public(last.into()), "{net}");
        }
    }
}
