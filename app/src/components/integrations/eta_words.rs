//! When an integration's backlog will be clear, in two or three words that promise no more than is known.

use crate::format;
use model::{integration::IntegrationState, stats::IntegrationGauge};

/// `~4 min`, `≥ 52 min` where the rate limit alone decides, `growing`, or a dash where nothing waits or nothing can be said.
pub fn eta_words(gauge: &IntegrationGauge) -> String {
    if gauge.backlog + gauge.to_be_retried == 0 {
        return "–".to_owned();
    }
    let is_held = gauge.breaker.as_ref().is_some_and(|breaker| breaker.at_once == Some(0));
    if gauge.state != IntegrationState::Active || is_held {
        return "–".to_owned();
    }
    // What came in against what was done, as far as both are known.
    let grows = gauge
        .accepted_per_minute
        .is_some_and(|accepted| accepted > gauge.delivered_per_minute && accepted > 0);
    let is_limit_bound =
        gauge.rate_limit.is_some_and(|limit| f64::from(limit.used) >= 0.9 * f64::from(limit.limit));
    match gauge.eta_seconds {
        None if grows => "growing".to_owned(),
        None => "–".to_owned(),
        Some(eta) if is_limit_bound => format!("≥ {}", format::eta(eta)),
        Some(eta) => format!("~{}", format::eta(eta)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::fixtures::idle_gauge;
    use model::rate_limit::RateLimitUse;

    #[test]
    fn no_time_is_promised_that_the_numbers_do_not_show() {
        type Change = fn(&mut IntegrationGauge);
        let cases: [(&str, Change); 6] = [
            ("–", |_| ()),
            ("–", |g| g.backlog = 5),
            ("~4 min", |g| (g.backlog, g.eta_seconds) = (5, Some(240))),
            ("≥ 4 min", |g| {
                (g.backlog, g.eta_seconds) = (5, Some(240));
                g.rate_limit = Some(RateLimitUse { limit: 10, used: 9, per_seconds: 1 });
            }),
            ("growing", |g| (g.backlog, g.accepted_per_minute, g.delivered_per_minute) = (5, Some(90), 20)),
            ("–", |g| (g.backlog, g.eta_seconds, g.state) = (5, Some(240), IntegrationState::Paused)),
        ];
        for (words, change) in cases {
            let mut gauge = idle_gauge();
            change(&mut gauge);
            assert_eq!(eta_words(&gauge), words);
        }
    }
}
