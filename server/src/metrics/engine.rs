//! The engine of this process, and its connections.

use super::text::Text;
use crate::replica::{Lag, Replica};
use queue::worker::{EngineReport, SIZES};
use sqlx::PgPool;

pub(super) fn report(text: &mut Text, report: &EngineReport) {
    text.gauge("headgate_worker_slots", "Jobs this process may run at once.", &[], report.slots);
    text.gauge("headgate_worker_slots_busy", "Jobs this process runs.", &[], report.running);
    let about = "Handlers that did not stop at their time limit and block a thread each.";
    text.gauge("headgate_worker_slots_blocked", about, &[], report.blocked);
    let about = "Whether it has its lease.";
    text.gauge("headgate_worker_registered", about, &[], i32::from(report.is_registered));
    let about = "Whether it is draining or stopping, and so claims nothing more.";
    text.gauge("headgate_worker_draining", about, &[], i32::from(report.is_draining || report.is_stopping));
    text.counter("headgate_worker_leases_lost_total", "Leases it lost.", &[], report.lost_leases);
    let about = "How far this host's clock is ahead of the database's; negative: behind.";
    let ahead = report.clock_ahead.as_seconds_f64();
    text.gauge("headgate_clock_ahead_seconds", about, &[], ahead);
    let about = "Results that wait to be recorded.";
    text.gauge("headgate_unrecorded_results", about, &[], report.unrecorded);
    let about = "Those of them whose rows are locked by other transactions.";
    text.gauge("headgate_held_results", about, &[], report.locked_elsewhere);
    let about = "How long no result has been recorded while some waited.";
    text.gauge("headgate_unrecorded_results_age_seconds", about, &[], report.unrecorded_for.as_secs_f64());
    let (claims, finishes) = (&report.claims, &report.finishes);
    let about = "How long claims took, including the wait for the process's fairness turn.";
    text.durations("headgate_claim_duration_seconds", about, &claims.durations, claims.took.as_secs_f64());
    let about = "Jobs per claim, without empty claims.";
    text.sizes("headgate_claim_jobs", about, &SIZES, &claims.sizes, claims.jobs);
    let about = "How long transactions that record results took.";
    text.durations(
        "headgate_finish_duration_seconds",
        about,
        &finishes.durations,
        finishes.took.as_secs_f64(),
    );
    text.sizes("headgate_finish_jobs", "Results per transaction.", &SIZES, &finishes.sizes, finishes.jobs);
}

pub(super) fn replica(text: &mut Text, replica: Option<&Replica>) {
    let seconds = match replica.map(Replica::lag) {
        None => 0.0,
        Some(Lag::Of(lag)) => lag.as_seconds_f64(),
        Some(Lag::Unknown) => f64::NAN,
    };
    let about = "How far the replica that lists are read from is behind.";
    text.gauge("headgate_replica_lag_seconds", about, &[], seconds);
}

pub(super) fn pools(text: &mut Text, pools: &[(&'static str, PgPool)]) {
    for (name, pool) in pools {
        let open = pool.size();
        let idle = u32::try_from(pool.num_idle()).unwrap_or(open).min(open);
        for (state, n) in [("idle", idle), ("used", open - idle)] {
            let about = "Open connections of this process.";
            text.gauge("headgate_database_connections", about, &[("pool", *name), ("state", state)], n);
        }
    }
    for (name, pool) in pools {
        let most = pool.options().get_max_connections();
        let about = "Connections of the pool at most.";
        text.gauge("headgate_database_connections_max", about, &[("pool", *name)], most);
    }
}
