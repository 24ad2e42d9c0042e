//! Limits on wrong passwords, as GCRA rows: for one account from one network, for one account from anywhere, for any account from one network. A
//! device that has signed in to the account before has a row of its own instead.
//!
//! The first limit keeps an attacker from using up the owner's tries: the owner is in another network, or has the device. The second is looser and
//! only for guesses from many networks at once; a network that has used up its own limit never reaches it.
//!
//! A try is counted before the password is checked, so that parallel guesses count too, and forgiven when it was right. Nobody is locked out for
//! good: after the burst, one try in each period is checked.

use crate::client::Client;
use crate::error::AccessError;
use crate::store::throttles::{self, Allowance};
use sqlx::PgPool;
use std::{net::IpAddr, time::Duration};

/// Tries at one account, by one device or from one network.
const OWN: Allowance = Allowance { burst: 10, period: Duration::from_secs(20) };
/// Tries at one account, from anywhere.
const ACCOUNT: Allowance = Allowance { burst: 100, period: Duration::from_secs(1) };
/// Tries from one network, at any account.
const NETWORK: Allowance = Allowance { burst: 40, period: Duration::from_secs(5) };

/// A counted try.
pub(crate) struct Try {
    /// Key of the row of this device, or of this network for the account.
    own: String,
    /// Rows that other clients use too. Empty for a known device.
    shared: Vec<(String, Allowance)>,
}

pub(crate) async fn count(pool: &PgPool, email: &str, client: Client) -> Result<Try, AccessError> {
    let email = email.to_lowercase();
    let network = network(client.address);
    let counted = match client.device {
        Some(device) => Try { own: format!("device:{device}"), shared: Vec::new() },
        None => Try {
            own: format!("account:{email}@{network}"),
            shared: vec![(network, NETWORK), (format!("account:{email}"), ACCOUNT)],
        },
    };
    // Nothing is written for a network that has used up its tries, however many accounts it invents.
    if let Some((network, allowance)) = counted.shared.first()
        && let Some(retry_after) = throttles::wait(pool, network, *allowance).await?
    {
        return Err(AccessError::TooMany { retry_after: retry_after.max(Duration::from_secs(1)) });
    }
    // The account's row comes last, so that a try that is refused before takes nothing of it.
    let own = [(&counted.own, OWN)];
    for (key, allowance) in
        own.into_iter().chain(counted.shared.iter().map(|(key, allowance)| (key, *allowance)))
    {
        if let Some(retry_after) = throttles::take(pool, key, allowance).await? {
            return Err(AccessError::TooMany { retry_after });
        }
    }
    Ok(counted)
}

/// After a right password: forgets the client's own tries, and releases the one it took of shared rows.
pub(crate) async fn forgive(pool: &PgPool, counted: &Try) -> Result<(), AccessError> {
    throttles::forget(pool, &counted.own).await?;
    for (key, allowance) in &counted.shared {
        throttles::release(pool, key, *allowance).await?;
    }
    Ok(())
}

/// The /24 of an IPv4 address, the /64 of an IPv6 one: what one household or one attacker has.
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
