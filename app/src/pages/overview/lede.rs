//! The page's answer in one sentence.

use crate::{components::Health, format};
use model::stats::Snapshot;

/// What is wrong, and until when.
pub fn lede(snapshot: &Snapshot, is_past: bool) -> String {
    let all = snapshot.integrations.len();
    let wrong = snapshot.integrations.iter().filter(|g| Health::of(g, snapshot.at).needs_attention()).count();
    let mut parts = vec![match (all, wrong, is_past) {
        (0, _, false) => "Nothing is connected yet".to_owned(),
        (0, _, true) => "Nothing was connected then".to_owned(),
        (_, 0, false) => format!("All **{all} integrations** are in sync or catching up by themselves"),
        (_, 0, true) => format!("All **{all} integrations** were in sync or catching up by themselves"),
        (_, 1, false) => format!("**1 of {all} integrations** needs attention"),
        (_, _, false) => format!("**{wrong} of {all} integrations** need attention"),
        (_, _, true) => format!("**{wrong} of {all} integrations** needed attention"),
    }];
    if snapshot.workers == 0 {
        parts.push(if is_past {
            "**no worker was running**: jobs waited until one started".to_owned()
        } else {
            "**no worker is running**: jobs wait until one starts".to_owned()
        });
    } else if let Some(eta) = eta(snapshot) {
        let eta = format::eta(eta);
        parts.push(if is_past {
            format!("at the rate of then all waiting work would have been done in **{eta}**")
        } else {
            format!("at this rate all waiting work is done in **{eta}**")
        });
    }
    parts.join(" · ")
}

/// The longest estimate of all that can be estimated; none when nothing waits.
fn eta(snapshot: &Snapshot) -> Option<i64> {
    snapshot.integrations.iter().filter(|g| g.backlog > 0).filter_map(|g| g.eta_seconds).max()
}
