//! Answers what another rate limit would do.

use crate::format;
use model::rate_limit::RateLimit;
use model::rules::what_if::{WhatIf, what_if};

/// The URL parameter: requests per second.
pub const PARAM: &str = "what_if";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Waiting jobs, including those that wait for a retry.
    pub outstanding: i64,
    /// Jobs accepted in the last minute; none: not known.
    pub accepted_per_minute: Option<i64>,
}

/// The answer to the typed rate; none while nothing is typed.
pub fn answer(typed: &str, load: Load) -> Option<String> {
    let typed = typed.trim();
    if typed.is_empty() {
        return None;
    }
    let Some(limit) = rate(typed) else {
        return Some("Enter a number of requests per second, such as 20 or 0.5.".to_owned());
    };
    Some(match what_if(load.outstanding, load.accepted_per_minute, limit) {
        WhatIf::Nothing { is_rate_known: true } => {
            format!("No backlog, and none at {typed} per second: fewer jobs arrive.")
        }
        WhatIf::Nothing { is_rate_known: false } => {
            "No backlog. The arrival rate is not known yet.".to_owned()
        }
        WhatIf::PilesUp { arriving } => format!(
            "No backlog now, but at {typed} per second jobs **would pile up**: about {} arrive per second.",
            format::compact(arriving)
        ),
        WhatIf::Drains { seconds, at_least: false } => {
            format!("At {typed} per second it drains in about **{}**.", format::eta(seconds))
        }
        WhatIf::Drains { seconds, at_least: true } => {
            format!("At {typed} per second it drains in at least **{}**.", format::eta(seconds))
        }
        WhatIf::Never { arriving } => format!(
            "At {typed} per second it **never drains**: about {} arrive per second.",
            format::compact(arriving)
        ),
    })
}

/// A rate per second as a limit; fractions become a limit per hour.
fn rate(typed: &str) -> Option<RateLimit> {
    let per_second =
        typed.replace(',', ".").parse::<f64>().ok().filter(|n| (0.000_3..=1_000_000.0).contains(n))?;
    Some(if per_second < 1.0 || per_second.fract() != 0.0 {
        RateLimit {
            requests: (per_second * 3_600.0).round().clamp(1.0, 1_000_000.0) as i32,
            per_seconds: 3_600,
        }
    } else {
        RateLimit { requests: per_second as i32, per_seconds: 1 }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_rate_is_answered_in_a_sentence() {
        let load = |outstanding, accepted_per_minute| Load { outstanding, accepted_per_minute };
        for (typed, load, want) in [
            ("", load(10, None), None),
            ("20", load(0, Some(600)), Some("No backlog, and none at 20 per second: fewer jobs arrive.")),
            ("20", load(0, None), Some("No backlog. The arrival rate is not known yet.")),
            (
                "2",
                load(0, Some(600)),
                Some(
                    "No backlog now, but at 2 per second jobs **would pile up**: about 10 arrive per second.",
                ),
            ),
            ("20", load(10_000, Some(0)), Some("At 20 per second it drains in about **9 min**.")),
            ("20", load(10_000, None), Some("At 20 per second it drains in at least **9 min**.")),
            ("0.5", load(100, Some(0)), Some("At 0.5 per second it drains in about **4 min**.")),
            (
                "2",
                load(10, Some(600)),
                Some("At 2 per second it **never drains**: about 10 arrive per second."),
            ),
            ("fast", load(10, None), Some("Enter a number of requests per second, such as 20 or 0.5.")),
            ("0", load(10, None), Some("Enter a number of requests per second, such as 20 or 0.5.")),
        ] {
            assert_eq!(answer(typed, load).as_deref(), want, "{typed}");
        }
    }
}
