//! Limits of connections.

use std::time::Duration;

/// Regardless of the limit of open files.
const MAX_CONNECTIONS: usize = 4_096;
/// Assumed when the limit of open files is unknown: the smallest usual one.
const DEFAULT_FILE_LIMIT: u64 = 1_024;

#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// From the connection to the end of its first request's header.
    pub first_header: Duration,
    /// From the end of an answer to the end of the next request's header. Longer than reverse proxies keep connections (60 s or less): they
    /// must close them first, or they may send a request on a connection that is just being closed.
    pub next_header: Duration,
    /// How long a client may take to read a part of its answer. Event streams write every 15 seconds, so they end too when the reader is gone.
    pub unread: Duration,
    /// Connections in total.
    pub all: usize,
    /// Connections per IPv4 address or IPv6 /64. Trusted proxies are exempt, because all clients are behind them.
    pub per_address: usize,
    /// Additional connections, for which only `/healthz`, `/readyz` and `/metrics` are answered. New ones replace the oldest.
    pub reserve: usize,
}

impl ConnectionLimits {
    /// For a process that may open this many files, of which half are left to deliveries and the database.
    #[must_use]
    pub fn for_files(files: Option<u64>) -> Self {
        let files = usize::try_from(files.unwrap_or(DEFAULT_FILE_LIMIT)).unwrap_or(usize::MAX);
        let reserve = (files / 32).clamp(1, 32);
        let all = (files / 2).saturating_sub(reserve).clamp(1, MAX_CONNECTIONS);
        Self {
            first_header: Duration::from_secs(10),
            next_header: Duration::from_secs(75),
            unread: Duration::from_secs(30),
            all,
            per_address: (all / 8).max(1),
            reserve,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_files_are_left_to_deliveries_and_the_database() {
        for (files, all, reserve) in [
            (None, 480, 32),
            (Some(1_024), 480, 32),
            (Some(1_048_576), 4_096, 32),
            (Some(100), 47, 3),
            (Some(0), 1, 1),
        ] {
            let limits = ConnectionLimits::for_files(files);
            assert_eq!((limits.all, limits.reserve), (all, reserve), "{files:?}");
        }
    }
}
