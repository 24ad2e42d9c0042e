//! The overview's answer in one sentence.

use crate::{format, ui::literal};
use model::rules::health::{Health, HealthKind, Outlook};
use model::stats::{IntegrationGauge, Snapshot};
use model::views::overview::LeftOut;

/// What is wrong, what has no end in sight, and when the rest is done.
pub fn headline(snapshot: &Snapshot, left_out: LeftOut, is_past: bool) -> String {
    let mut parts = vec![attention(snapshot, left_out, is_past)];
    if snapshot.workers == 0 {
        parts.push(if is_past {
            "**no worker was running**: jobs waited until one started".to_owned()
        } else {
            "**no worker is running**: jobs wait until one starts".to_owned()
        });
    } else {
        parts.extend(outlook(snapshot, left_out, is_past));
    }
    parts.join(" · ")
}

fn attention(snapshot: &Snapshot, left_out: LeftOut, is_past: bool) -> String {
    let all = snapshot.integrations.len() + left_out.integrations;
    let wrong = snapshot.integrations.iter().filter(|g| Health::of(g, snapshot.at).needs_attention()).count()
        + left_out.needing_attention;
    let (many, wrong_ones) = (format::count(all as i64), format::count(wrong as i64));
    match (all, wrong, is_past) {
        (0, _, false) => "Nothing is connected yet".to_owned(),
        (0, _, true) => "Nothing was connected then".to_owned(),
        (1, 0, false) => "**1 integration** is in sync or catching up by itself".to_owned(),
        (_, 0, false) => format!("All **{many} integrations** are in sync or catching up by themselves"),
        (1, 0, true) => "**1 integration** was in sync or catching up by itself".to_owned(),
        (_, 0, true) => format!("All **{many} integrations** were in sync or catching up by themselves"),
        (1, _, false) => "**The only integration** needs attention".to_owned(),
        (1, _, true) => "**The only integration** needed attention".to_owned(),
        (_, 1, false) => format!("**1 of {many} integrations** needs attention"),
        (_, _, false) => format!("**{wrong_ones} of {many} integrations** need attention"),
        (_, _, true) => format!("**{wrong_ones} of {many} integrations** needed attention"),
    }
}

/// The largest of those without an estimate by name, then how many more there are, then the estimate for the rest.
fn outlook(snapshot: &Snapshot, left_out: LeftOut, is_past: bool) -> Vec<String> {
    let judged = || snapshot.integrations.iter().map(|gauge| (Outlook::of(gauge, snapshot.at), gauge));
    let open = judged().filter(|(outlook, _)| outlook.is_open());
    let others = open.clone().count() + left_out.without_eta;
    let largest = open.max_by_key(|(_, gauge)| (waiting(gauge), gauge.integration_id));
    let seconds = judged().filter_map(|(outlook, _)| outlook.seconds()).max().max(left_out.eta_seconds);

    let mut parts = Vec::new();
    if let Some((outlook, gauge)) = largest {
        let mut text = why_open(outlook, gauge, snapshot, is_past);
        match others - 1 {
            0 => {}
            1 => text.push_str(", 1 more has no estimate"),
            n => text.push_str(&format!(", {} more have no estimate", format::count(n as i64))),
        }
        parts.push(text);
    } else if others > 0 {
        parts.push(format!("{} have no estimate", format::count(others as i64)));
    }
    if let Some(seconds) = seconds {
        let what = if others > 0 { "the rest" } else { "the backlog" };
        let eta = format::eta(seconds);
        parts.push(if is_past {
            format!("at that rate {what} would have cleared in about **{eta}**")
        } else {
            format!("{what} clears in about **{eta}**")
        });
    }
    parts
}

fn waiting(gauge: &IntegrationGauge) -> i64 {
    gauge.backlog + gauge.to_be_retried
}

/// Why no time can be promised for an integration's jobs.
fn why_open(outlook: Outlook, gauge: &IntegrationGauge, snapshot: &Snapshot, is_past: bool) -> String {
    let is = if is_past { "was" } else { "is" };
    let name = literal(&gauge.name);
    let why = match (outlook, Health::of(gauge, snapshot.at).kind) {
        (Outlook::Grows, _) => {
            format!("the backlog of **{name}** {}", if is_past { "grew" } else { "grows" })
        }
        (Outlook::StandsStill, HealthKind::Paused) => format!("**{name}** {is} paused"),
        (Outlook::StandsStill, HealthKind::Disabled) => format!("**{name}** {is} disabled"),
        (Outlook::StandsStill, HealthKind::Throttled) => {
            let until = gauge.held_until.map_or_else(String::new, |until| format::clock(until, snapshot.at));
            format!("**{name}** {is} to wait until **{until}**")
        }
        (Outlook::StandsStill, _) => format!("the breaker of **{name}** {is} open"),
        _ => format!("**{name}** {} no estimate", if is_past { "had" } else { "has" }),
    };
    format!("{why} ({})", format::counted(waiting(gauge), "job", "jobs"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeDelta;
    use model::fixtures::{idle_gauge, noon, snapshot_of};
    use model::integration::IntegrationState;

    fn busy(name: &str, backlog: i64, eta_seconds: Option<i64>) -> IntegrationGauge {
        IntegrationGauge { name: name.to_owned(), backlog, eta_seconds, ..idle_gauge() }
    }

    #[test]
    fn the_first_sentence_promises_only_what_holds() {
        let quiet = IntegrationGauge {
            held_until: Some(noon() + TimeDelta::minutes(47)),
            to_be_retried: 80,
            ..busy("Partner feed", 300, Some(21))
        };
        let growing = IntegrationGauge { accepted_per_minute: Some(900), ..busy("Search", 40, None) };
        let paused = IntegrationGauge { state: IntegrationState::Paused, ..busy("ERP", 5, None) };
        let fine = busy("Shop", 7, Some(18));
        let says = |gauges: &[&IntegrationGauge]| {
            let snapshot = snapshot_of(gauges.iter().map(|gauge| (*gauge).clone()).collect());
            headline(&snapshot, LeftOut::default(), false).split_once(" · ").map(|(_, rest)| rest.to_owned())
        };
        for (gauges, sentence) in [
            (&[][..], None),
            (&[&fine], Some("the backlog clears in about **20 s**")),
            (
                &[&fine, &quiet],
                Some(
                    "**Partner feed** is to wait until **12:47:00** (380 jobs) · the rest clears in about **20 s**",
                ),
            ),
            (&[&growing], Some("the backlog of **Search** grows (40 jobs)")),
            (
                &[&paused, &growing, &fine],
                Some(
                    "the backlog of **Search** grows (40 jobs), 1 more has no estimate · the rest clears in about **20 s**",
                ),
            ),
            (&[&paused], Some("**ERP** is paused (5 jobs)")),
        ] {
            assert_eq!(says(gauges).as_deref(), sentence);
        }
    }
}
