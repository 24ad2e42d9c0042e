//! The bounds of connections.

use std::time::Duration;

/// Connections at once, however many files there may be.
const MAX_CONNECTIONS: usize = 4_096;
/// A process whose file limit nobody knows is taken to have the smallest that is usual.
const DEFAULT_FILE_LIMIT: u64 = 1_024;

/// How many connections, and how long they may be silent.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// From the connection to the end of its first request's header.
    pub first_header: Duration,
    /// From the end of an answer to the end of the next request's header. Longer than reverse proxies keep connections (60 s and less): they
    /// must be the ones to close them, or a request meets a connection that has just ended.
    pub next_header: Duration,
    /// For a client to take a part of its answer. Event streams write every 15 seconds, so that one whose reader is gone ends too.
    pub unread: Duration,
    /// Connections in all.
    pub all: usize,
    /// Connections of one address; of IPv6 its /64. Not for the proxies that are believed: behind one of them is everybody.
    pub per_address: usize,
    /// Connections beyond these that are answered as far as `/healthz`, `/readyz` and `/metrics`. The newest take the places of the oldest.
    pub reserve: usize,
}

impl ConnectionLimits {
    /// For a process that may open so many files: deliveries and the database keep half of them.
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
    fn half_of_the_files_stay_with_deliveries_and_the_database() {
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
