//! The state of all processes in one sentence, and warnings, if any.

use crate::format;
use model::worker::{LeaseState, Worker};
use std::collections::BTreeMap;

/// The headline of the page.
pub fn headline(workers: &[Worker]) -> String {
    let processes = live(workers).count() as i64;
    if processes == 0 {
        return "No process is claiming jobs.".to_owned();
    }
    let busy = live(workers).map(|worker| i64::from(worker.busy)).sum::<i64>();
    format!(
        "**{}** with **{}**, {} in use",
        format::counted(processes, "process", "processes"),
        format::counted(Worker::slots_of(workers), "slot", "slots"),
        if busy == 0 { "none".to_owned() } else { format!("**{}**", format::count(busy)) },
    )
}

/// Worst first; nothing while all is well.
pub fn warnings(workers: &[Worker]) -> Vec<String> {
    let mut warnings = Vec::new();
    let (live, lost): (Vec<_>, Vec<_>) = workers.iter().partition(|worker| worker.lease != LeaseState::Lost);
    if live.is_empty() {
        warnings.push("No worker is running: jobs wait, and nothing is sent. Start a process with `headgate serve` or `headgate worker`.".to_owned());
    } else if live.iter().all(|worker| worker.is_draining) {
        warnings.push("Every worker is draining: they finish their jobs, and no more are claimed until one is restarted.".to_owned());
    }
    for worker in live.iter().filter(|worker| worker.lease == LeaseState::Late) {
        warnings.push(format!(
            "{} is late with its heartbeat. Unless one comes soon, other workers take over its {}.",
            name(worker),
            format::counted(worker.busy.into(), "job", "jobs")
        ));
    }
    for worker in lost {
        warnings.push(format!("{} died: other workers took over its jobs.", name(worker)));
    }
    warnings
}

/// During an upgrade: which versions run; `None` when there is one.
pub fn mixed_versions(workers: &[Worker]) -> Option<String> {
    let mut versions = BTreeMap::<&str, i64>::new();
    for worker in live(workers).filter(|worker| worker.program.is_none()) {
        *versions.entry(&worker.version).or_default() += 1;
    }
    let words: Vec<_> = versions
        .iter()
        .map(|(version, n)| format!("{version} ({})", format::counted(*n, "process", "processes")))
        .collect();
    (words.len() > 1)
        .then(|| format!("Mixed versions: {}. That is fine during an upgrade.", words.join(", ")))
}

/// Host and process id.
pub fn name(worker: &Worker) -> String {
    format!("{} · {}", worker.host, worker.pid)
}

fn live(workers: &[Worker]) -> impl Iterator<Item = &Worker> {
    workers.iter().filter(|worker| worker.lease != LeaseState::Lost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::fixtures::live_worker;

    fn worker(version: &str) -> Worker {
        Worker { version: version.to_owned(), ..live_worker() }
    }

    #[test]
    fn there_are_no_warnings_while_all_is_well() {
        assert_eq!(warnings(&[worker("1.0"), worker("1.0")]), Vec::<String>::new());
        assert_eq!(mixed_versions(&[worker("1.0"), worker("1.0")]), None);
        assert_eq!(headline(&[worker("1.0")]), "**1 process** with **100 slots**, **3** in use");
    }

    #[test]
    fn each_trouble_has_a_warning() {
        assert!(warnings(&[])[0].starts_with("No worker is running"));
        let draining = Worker { is_draining: true, ..worker("1.0") };
        assert!(warnings(std::slice::from_ref(&draining))[0].starts_with("Every worker is draining"));
        assert_eq!(warnings(&[draining, worker("1.0")]), Vec::<String>::new());
        let late = Worker { lease: LeaseState::Late, ..worker("1.0") };
        assert_eq!(
            warnings(&[late]),
            [
                "node-1 · 7 is late with its heartbeat. Unless one comes soon, other workers take over its 3 jobs."
            ]
        );
        let lost = Worker { lease: LeaseState::Lost, ..worker("1.0") };
        assert!(warnings(&[worker("1.0"), lost])[0].contains("died"));
    }

    #[test]
    fn mixed_versions_are_named_and_other_programs_have_their_own() {
        let other = Worker { program: Some("invoices".to_owned()), ..worker("9.9") };
        assert_eq!(mixed_versions(&[worker("1.0"), other]), None);
        assert_eq!(
            mixed_versions(&[worker("1.1"), worker("1.0"), worker("1.0")]).as_deref(),
            Some("Mixed versions: 1.0 (2 processes), 1.1 (1 process). That is fine during an upgrade.")
        );
    }
}
