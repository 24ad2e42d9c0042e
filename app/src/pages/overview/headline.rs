//! The overview's answer in one sentence.

use crate::format;
use model::{rules::health::Health, stats::Snapshot, views::overview::LeftOut};

/// What is wrong, and when the backlog clears.
pub fn headline(snapshot: &Snapshot, left_out: LeftOut, is_past: bool) -> String {
    let all = snapshot.integrations.len() + left_out.integrations;
    let wrong = snapshot.integrations.iter().filter(|g| Health::of(g, snapshot.at).needs_attention()).count()
        + left_out.needing_attention;
    let (many, wrong_ones) = (format::count(all as i64), format::count(wrong as i64));
    let mut parts = vec![match (all, wrong, is_past) {
        (0, _, false) => "Nothing is connected yet".to_owned(),
        (0, _, true) => "Nothing was connected then".to_owned(),
        (_, 0, false) => format!("All **{many} integrations** are in sync or catching up by themselves"),
        (_, 0, true) => format!("All **{many} integrations** were in sync or catching up by themselves"),
        (_, 1, false) => format!("**1 of {many} integrations** needs attention"),
        (_, _, false) => format!("**{wrong_ones} of {many} integrations** need attention"),
        (_, _, true) => format!("**{wrong_ones} of {many} integrations** needed attention"),
    }];
    if snapshot.workers == 0 {
        parts.push(if is_past {
            "**no worker was running**: jobs waited until one started".to_owned()
        } else {
            "**no worker is running**: jobs wait until one starts".to_owned()
        });
    } else if let Some(eta) = eta(snapshot).max(left_out.eta_seconds) {
        let eta = format::eta(eta);
        parts.push(if is_past {
            format!("at that rate the backlog would have cleared in **{eta}**")
        } else {
            format!("at this rate the backlog clears in **{eta}**")
        });
    }
    parts.join(" · ")
}

/// The longest known estimate; `None` when nothing waits.
fn eta(snapshot: &Snapshot) -> Option<i64> {
    snapshot.integrations.iter().filter(|g| g.backlog > 0).filter_map(|g| g.eta_seconds).max()
}
