//! How often somebody may be wrong, as GCRA rows (RELIABILITY 4): at one account from one network, at one account from anywhere, at any account from
//! one network. A device that has signed in to the account before has a row of its own instead.
//!
//! The first keeps a guesser from taking the owner's turns: the owner is elsewhere, or has the device. The second is looser and only for
//! guesses from many networks at once; one network that has used up its own never reaches it.
//!
//! A try is counted before the password is looked at, so that parallel guesses count too, and forgiven when it was right. Nobody is
//! locked out for good: after the burst one try is looked at every now and then.

use crate::{error::AccessError, sign_in::Client, store::throttles};
use sqlx::PgPool;
use std::{net::IpAddr, time::Duration};

/// A number of tries at once, then one in each period.
#[derive(Clone, Copy)]
pub(crate) struct Allowance {
    pub(crate) burst: i64,
    pub(crate) period: Duration,
}

/// Tries at one account, by one device or from one network.
const OWN: Allowance = Allowance { burst: 10, period: Duration::from_secs(20) };
/// Tries at one account, from anywhere.
const ACCOUNT: Allowance = Allowance { burst: 100, period: Duration::from_secs(1) };
/// Tries from one network, at any account.
const NETWORK: Allowance = Allowance { burst: 40, period: Duration::from_secs(5) };

/// A counted try.
pub(crate) struct Try {
    /// Of this device or network alone.
    own: String,
    /// Of others too; none: a known device shares nothing.
    shared: Vec<(String, Allowance)>,
}

/// Counts a client's try at the account.
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
    // Nothing is written of a network that has used up its own, whatever accounts it invents.
    if let Some((network, allowance)) = counted.shared.first()
        && let Some(retry_after) = throttles::wait(pool, network, *allowance).await?
    {
        return Err(AccessError::TooMany { retry_after: retry_after.max(Duration::from_secs(1)) });
    }
    // The account's last: whoever is refused before takes nothing of it.
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

/// It was right: the own tries are forgotten, what is shared is given back.
pub(crate) async fn forgive(pool: &PgPool, counted: &Try) -> Result<(), AccessError> {
    throttles::forget(pool, &counted.own).await?;
    for (key, allowance) in &counted.shared {
        throttles::give_back(pool, key, *allowance).await?;
    }
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
