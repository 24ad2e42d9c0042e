//! What is to be said of all processes together: one sentence, and what is wrong, if anything is.

use crate::format;
use model::worker::{LeaseState, Worker};
use std::collections::BTreeMap;

/// The sentence of the page's head.
pub fn lede(workers: &[Worker]) -> String {
    let live = live(workers).count() as i64;
    if live == 0 {
        return "Nobody claims jobs right now.".to_owned();
    }
    let (busy, slots) = live_sum(workers, |worker| (i64::from(worker.busy), i64::from(worker.slots)));
    format!(
        "**{}** with **{}**, {} at work",
        format::counted(live, "process", "processes"),
        format::counted(slots, "slot", "slots"),
        if busy == 0 { "none".to_owned() } else { format!("**{}**", format::count(busy)) },
    )
}

/// What an operator should know, worst first; nothing while all is well.
pub fn warnings(workers: &[Worker]) -> Vec<String> {
    let mut warnings = Vec::new();
    let (live, lost): (Vec<_>, Vec<_>) = workers.iter().partition(|worker| worker.lease != LeaseState::Lost);
    if live.is_empty() {
        warnings.push("No worker is live: jobs are collected and wait, nothing is sent. Start a process with `headgate serve` or `headgate worker`.".to_owned());
    } else if live.iter().all(|worker| worker.is_draining) {
        warnings.push("Every worker is draining: what they hold is finished, nothing new is claimed until one is restarted.".to_owned());
    }
    for worker in live.iter().filter(|worker| worker.lease == LeaseState::Late) {
        warnings.push(format!(
            "{} is late with its heartbeat. Unless one comes soon, its {} given to others.",
            name(worker),
            jobs_are(worker.busy)
        ));
    }
    for worker in lost {
        warnings.push(format!("{} stopped without a word: what it held was given to others.", name(worker)));
    }
    warnings
}

/// During a deployment: which versions run side by side; nothing when there is one.
pub fn mixed_versions(workers: &[Worker]) -> Option<String> {
    let mut versions = BTreeMap::<&str, i64>::new();
    for worker in live(workers).filter(|worker| worker.program.is_none()) {
        *versions.entry(&worker.version).or_default() += 1;
    }
    let words: Vec<_> = versions
        .iter()
        .map(|(version, n)| format!("{version} ({})", format::counted(*n, "process", "processes")))
        .collect();
    (words.len() > 1).then(|| {
        format!("Versions side by side: {}. That is fine while an upgrade is under way.", words.join(", "))
    })
}

/// Host and process id.
pub fn name(worker: &Worker) -> String {
    format!("{} · {}", worker.host, worker.pid)
}

/// `3 jobs are`, `1 job is`, as a sentence goes on.
fn jobs_are(n: i32) -> String {
    format!("{} {}", format::counted(n.into(), "job", "jobs"), if n == 1 { "is" } else { "are" })
}

fn live(workers: &[Worker]) -> impl Iterator<Item = &Worker> {
    workers.iter().filter(|worker| worker.lease != LeaseState::Lost)
}

fn live_sum(workers: &[Worker], read: impl Fn(&Worker) -> (i64, i64)) -> (i64, i64) {
    live(workers).map(read).fold((0, 0), |sum, own| (sum.0 + own.0, sum.1 + own.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;
    use model::id::WorkerId;

    fn worker(version: &str) -> Worker {
        Worker {
            id: WorkerId::generate(),
            host: "node-1".to_owned(),
            pid: 7,
            version: version.to_owned(),
            program: None,
            job_types: None,
            slots: 100,
            busy: 3,
            is_draining: false,
            is_leader: false,
            lease: LeaseState::Live,
            started_at: DateTime::UNIX_EPOCH,
            heartbeat_at: DateTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn nothing_is_said_while_all_is_well() {
        assert_eq!(warnings(&[worker("1.0"), worker("1.0")]), Vec::<String>::new());
        assert_eq!(mixed_versions(&[worker("1.0"), worker("1.0")]), None);
        assert_eq!(lede(&[worker("1.0")]), "**1 process** with **100 slots**, **3** at work");
    }

    #[test]
    fn each_trouble_has_its_sentence() {
        assert!(warnings(&[])[0].starts_with("No worker is live"));
        let draining = Worker { is_draining: true, ..worker("1.0") };
        assert!(warnings(std::slice::from_ref(&draining))[0].starts_with("Every worker is draining"));
        assert_eq!(warnings(&[draining, worker("1.0")]), Vec::<String>::new());
        let late = Worker { lease: LeaseState::Late, ..worker("1.0") };
        assert_eq!(
            warnings(&[late]),
            ["node-1 · 7 is late with its heartbeat. Unless one comes soon, its 3 jobs are given to others."]
        );
        let lost = Worker { lease: LeaseState::Lost, ..worker("1.0") };
        assert!(warnings(&[worker("1.0"), lost])[0].contains("stopped without a word"));
    }

    #[test]
    fn versions_side_by_side_are_told_and_other_programs_have_their_own() {
        let other = Worker { program: Some("invoices".to_owned()), ..worker("9.9") };
        assert_eq!(mixed_versions(&[worker("1.0"), other]), None);
        assert_eq!(
            mixed_versions(&[worker("1.1"), worker("1.0"), worker("1.0")]).as_deref(),
            Some(
                "Versions side by side: 1.0 (2 processes), 1.1 (1 process). That is fine while an upgrade is under way."
            )
        );
    }
}
