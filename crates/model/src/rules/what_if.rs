//! How fast a backlog would clear under another limit.

use crate::rate_limit::RateLimit;

/// An estimate for a backlog.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WhatIf {
    /// Nothing waits, and nothing would: fewer jobs come in than the limit allows.
    Nothing {
        /// Whether the rate of new jobs is known. If not, only the first half is certain.
        is_rate_known: bool,
    },
    /// Nothing waits yet, but more jobs come in than the limit allows.
    PilesUp {
        /// New jobs a second.
        arriving: f64,
    },
    /// It clears in about so many seconds, if jobs keep coming in as now.
    Drains {
        /// Until nothing is left.
        seconds: i64,
        /// The rate of new jobs is not known, so it takes at least that long.
        at_least: bool,
    },
    /// More jobs come in than the limit allows.
    Never {
        /// New jobs a second.
        arriving: f64,
    },
}

/// Estimates how fast `outstanding` jobs clear under this limit. Each job counts as one request.
#[must_use]
pub fn what_if(outstanding: i64, accepted_per_minute: Option<i64>, limit: RateLimit) -> WhatIf {
    let sent = 1_000_000.0 / limit.emission_us() as f64;
    let arriving = accepted_per_minute.unwrap_or(0).max(0) as f64 / 60.0;
    match (outstanding > 0, arriving >= sent) {
        (false, false) => WhatIf::Nothing { is_rate_known: accepted_per_minute.is_some() },
        (false, true) => WhatIf::PilesUp { arriving },
        (true, true) => WhatIf::Never { arriving },
        (true, false) => {
            let seconds = (outstanding as f64 / (sent - arriving)).ceil();
            // Ten years at most: larger numbers are meaningless.
            let seconds = seconds.min(315_360_000.0) as i64;
            WhatIf::Drains { seconds, at_least: accepted_per_minute.is_none() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backlog_drains_by_the_limit_minus_new_jobs() {
        let per_second = |requests| RateLimit { requests, per_seconds: 1 };
        let drains = |seconds| WhatIf::Drains { seconds, at_least: false };
        for (outstanding, accepted, limit, want) in [
            (0, Some(600), per_second(20), WhatIf::Nothing { is_rate_known: true }),
            (0, None, per_second(20), WhatIf::Nothing { is_rate_known: false }),
            (0, Some(600), per_second(1), WhatIf::PilesUp { arriving: 10.0 }),
            // 94 % of the limit is used.
            (10_000, Some(0), per_second(20), drains(530)),
            (10_000, None, per_second(20), WhatIf::Drains { seconds: 530, at_least: true }),
            (10_000, Some(600), per_second(20), drains(1_128)),
            (10_000, Some(1_200), per_second(20), WhatIf::Never { arriving: 20.0 }),
            (1, Some(0), RateLimit { requests: 1, per_seconds: 86_400 }, drains(91_584)),
            (i64::MAX, Some(0), per_second(1), drains(315_360_000)),
        ] {
            assert_eq!(what_if(outstanding, accepted, limit), want, "{outstanding} {accepted:?} {limit:?}");
        }
    }
}
