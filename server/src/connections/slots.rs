//! Counts connections: each has a slot, which is freed when the connection ends.

use super::ConnectionLimits;
use crate::middleware::TrustedProxies;
use queue::mutex::lock;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

pub(super) struct Slots {
    limits: ConnectionLimits,
    proxies: TrustedProxies,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    all: usize,
    by_network: HashMap<IpAddr, usize>,
    /// The reserve, the oldest first.
    reserve: BTreeMap<u64, CancellationToken>,
    next_reserve_number: u64,
}

pub(super) struct Slot {
    slots: Arc<Slots>,
    kind: Kind,
}

enum Kind {
    /// All requests are answered.
    Ordinary { network: IpAddr },
    /// Only probes are answered.
    Reserve { number: u64, evicted: CancellationToken },
}

impl Slots {
    pub(super) fn new(limits: ConnectionLimits, proxies: TrustedProxies) -> Arc<Self> {
        Arc::new(Self { limits, proxies, taken: Mutex::default() })
    }

    pub(super) fn take(self: &Arc<Self>, peer: IpAddr) -> Slot {
        let network = network(peer);
        let mut taken = self.taken();
        let own = taken.by_network.get(&network).copied().unwrap_or(0);
        let is_over_limit = own >= self.limits.per_address && !self.proxies.contain(peer);
        if taken.all < self.limits.all && !is_over_limit {
            taken.all += 1;
            taken.by_network.insert(network, own + 1);
            return Slot { slots: Arc::clone(self), kind: Kind::Ordinary { network } };
        }
        let number = taken.next_reserve_number;
        taken.next_reserve_number += 1;
        let evicted = CancellationToken::new();
        taken.reserve.insert(number, evicted.clone());
        if taken.reserve.len() > self.limits.reserve
            && let Some((_, oldest)) = taken.reserve.pop_first()
        {
            oldest.cancel();
        }
        Slot { slots: Arc::clone(self), kind: Kind::Reserve { number, evicted } }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        lock(&self.taken)
    }
}

impl Slot {
    pub(super) fn is_reserve(&self) -> bool {
        matches!(self.kind, Kind::Reserve { .. })
    }

    /// Returns when a newer connection has replaced this one.
    pub(super) async fn evicted(&self) {
        match &self.kind {
            Kind::Ordinary { .. } => std::future::pending().await,
            Kind::Reserve { evicted, .. } => evicted.cancelled().await,
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.slots.taken();
        match &self.kind {
            Kind::Ordinary { network } => {
                taken.all -= 1;
                if let Some(own) = taken.by_network.get_mut(network) {
                    *own -= 1;
                    if *own == 0 {
                        taken.by_network.remove(network);
                    }
                }
            }
            Kind::Reserve { number, .. } => {
                taken.reserve.remove(number);
            }
        }
    }
}

/// What usually belongs to one client: an IPv4 address, or an IPv6 /64.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn slots(all: usize, per_address: usize, reserve: usize) -> Arc<Slots> {
        let limits = ConnectionLimits { all, per_address, reserve, ..ConnectionLimits::for_files(None) };
        Slots::new(limits, TrustedProxies::default())
    }

    fn take(slots: &Arc<Slots>, peer: &str) -> Slot {
        slots.take(peer.parse().unwrap())
    }

    fn is_ordinary(slot: &Slot) -> bool {
        !slot.is_reserve()
    }

    #[test]
    fn connections_per_address_are_limited() {
        let slots = slots(10, 2, 4);
        let (first, second) = (take(&slots, "203.0.113.7"), take(&slots, "::ffff:203.0.113.7"));
        assert!(is_ordinary(&first) && is_ordinary(&second));
        assert!(!is_ordinary(&take(&slots, "203.0.113.7")));
        assert!(is_ordinary(&take(&slots, "203.0.113.8")));
        drop(first);
        assert!(is_ordinary(&take(&slots, "203.0.113.7")), "a freed slot can be used again");
        let _host = [take(&slots, "2001:db8::1"), take(&slots, "2001:db8::2")];
        assert!(!is_ordinary(&take(&slots, "2001:db8::3")), "a /64 is one host's");
        assert!(is_ordinary(&take(&slots, "2001:db8:0:1::1")));
    }

    #[test]
    fn trusted_proxies_have_no_limit_per_address() {
        let slots = slots(10, 2, 4);
        let proxied: Vec<Slot> = (0..10).map(|_| take(&slots, "127.0.0.1")).collect();
        assert!(proxied.iter().all(is_ordinary));
        assert!(!is_ordinary(&take(&slots, "127.0.0.1")), "the total limit applies to proxies too");
    }

    #[tokio::test]
    async fn new_connections_replace_the_oldest_of_the_reserve() {
        let slots = slots(1, 1, 2);
        let _ordinary = take(&slots, "127.0.0.1");
        let reserve: Vec<Slot> = (0..3).map(|_| take(&slots, "127.0.0.1")).collect();
        reserve[0].evicted().await;
        for slot in &reserve[1..] {
            assert!(tokio::time::timeout(Duration::ZERO, slot.evicted()).await.is_err());
        }
        assert_eq!(slots.taken().reserve.len(), 2);
        drop(reserve);
        assert_eq!(slots.taken().reserve.len(), 0);
    }
}
