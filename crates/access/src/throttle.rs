//! How often somebody may be wrong: per account and per network, as a GCRA row each (RELIABILITY 4).
//!
//! A try is counted before the password is looked at, so that parallel guesses count too, and forgiven when it was right. Nobody is
//! locked out for good: after the burst one try is looked at every now and then, whoever asks.

use crate::{error::AccessError, store::throttles};
use sqlx::PgPool;
use std::{net::IpAddr, time::Duration};

/// A number of tries at once, then one in each period.
#[derive(Clone, Copy)]
pub(crate) struct Allowance {
    pub(crate) burst: i64,
    pub(crate) period: Duration,
}

/// Tries at one account, from anywhere.
const ACCOUNT: Allowance = Allowance { burst: 10, period: Duration::from_secs(20) };
/// Tries from one network, at any account.
const NETWORK: Allowance = Allowance { burst: 40, period: Duration::from_secs(5) };

/// A counted try.
pub(crate) struct Try {
    account: String,
    network: String,
}

/// Counts a try at the account from the address.
pub(crate) async fn count(pool: &PgPool, email: &str, address: IpAddr) -> Result<Try, AccessError> {
    let counted = Try { account: format!("account:{}", email.to_lowercase()), network: network(address) };
    for (key, allowance) in [(&counted.network, NETWORK), (&counted.account, ACCOUNT)] {
        if let Some(retry_after) = throttles::take(pool, key, allowance).await? {
            return Err(AccessError::TooMany { retry_after });
        }
    }
    Ok(counted)
}

/// It was right: the account's tries are forgotten, the network's one is given back.
pub(crate) async fn forgive(pool: &PgPool, counted: &Try) -> Result<(), AccessError> {
    throttles::forget(pool, &counted.account).await?;
    throttles::give_back(pool, &counted.network, NETWORK).await?;
    Ok(())
}

/// The /24 of an IPv4 address, the /64 of an IPv6 one: what one household or one attacker has at hand.
fn network(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            format!("network:{a}.{b}.{c}.0/24")
        }
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            format!("network:{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_share_a_network() {
        for (address, key) in [
            ("203.0.113.7", "network:203.0.113.0/24"),
            ("::ffff:203.0.113.9", "network:203.0.113.0/24"),
            ("2001:db8:1:2:3:4:5:6", "network:2001:db8:1:2::/64"),
        ] {
            assert_eq!(network(address.parse().unwrap()), key);
        }
    }
}
