//! The whole deployment: gauges are sampled every second, measures every few seconds.

use super::text::Text;
use insight::store::stats::{Measures, ServiceState};
use model::breaker::BreakerState;
use model::integration::IntegrationState;
use model::stats::{IntegrationGauge, Snapshot};

pub(super) fn gauges(text: &mut Text, snapshot: &Snapshot) {
    let totals = &snapshot.totals;
    let jobs = "Live jobs of all integrations by status; failed are the dead letters.";
    for (status, n) in [
        ("pending", totals.backlog),
        ("processing", totals.processing),
        ("to_be_retried", totals.to_be_retried),
        ("failed", totals.dead_letters),
    ] {
        text.gauge("headgate_jobs", jobs, &[("status", status)], n);
    }
    let delivered = "Jobs completed in the last 60 s.";
    text.gauge("headgate_delivered_per_minute", delivered, &[], totals.delivered_per_minute);
    let failed = "Failed attempts in the last 60 s.";
    text.gauge("headgate_failed_per_minute", failed, &[], totals.failed_per_minute);
    let oldest = totals.oldest_pending_age_seconds.unwrap_or(0);
    text.gauge("headgate_oldest_pending_age_seconds", "Age of the oldest claimable job.", &[], oldest);
    text.gauge("headgate_workers", "Processes that claim jobs.", &[], snapshot.workers);
    for (name, state) in [
        ("active", IntegrationState::Active),
        ("paused", IntegrationState::Paused),
        ("disabled", IntegrationState::Disabled),
    ] {
        let n = snapshot.integrations.iter().filter(|gauge| gauge.state == state).count();
        text.gauge("headgate_integrations", "Integrations by state.", &[("state", name)], n);
    }
    let quiet = snapshot
        .integrations
        .iter()
        .filter(|gauge| gauge.held_until.is_some_and(|until| until > snapshot.at))
        .count();
    let about = "Integrations that send nothing for now because their external system answered 429.";
    text.gauge("headgate_integrations_held", about, &[], quiet);
    let not_closed = "Integrations whose circuit breaker is not closed, by its state.";
    for state in [BreakerState::Open, BreakerState::HalfOpen, BreakerState::Ramping] {
        let is_so =
            |gauge: &&IntegrationGauge| gauge.breaker.as_ref().is_some_and(|breaker| breaker.state == state);
        let n = snapshot.integrations.iter().filter(is_so).count();
        text.gauge("headgate_breakers", not_closed, &[("state", state.as_str())], n);
    }
    // A job has at most 100 attempts.
    for (index, n) in snapshot.retry_pyramid.iter().enumerate().take(100) {
        let attempt = (index + 1).to_string();
        let about = "Jobs that wait for a retry, by attempts made.";
        text.gauge("headgate_retry_pyramid", about, &[("attempts", &attempt)], n);
    }
    for warning in &snapshot.warnings {
        let about = "What an operator should look into; absent without warnings.";
        text.gauge("headgate_warning", about, &[("code", &warning.code)], 1);
    }
}

pub(super) fn measures(text: &mut Text, measures: &Measures) {
    let sums = &measures.sums;
    for (outcome, n) in [
        ("completed", sums.completed),
        ("unchanged", sums.unchanged),
        ("retried", sums.retried),
        ("dead", sums.dead),
        ("cancelled", sums.cancelled),
        ("given_back", sums.limited),
        ("lost", sums.lost),
    ] {
        let about = "Attempts by how they ended, since the beginning of the deployment.";
        text.counter("headgate_attempts_total", about, &[("outcome", outcome)], n);
    }
    let seconds = |us: i64| us as f64 / 1_000_000.0;
    text.durations(
        "headgate_attempt_duration_seconds",
        "How long attempts took.",
        &sums.latency,
        seconds(sums.latency_us),
    );
    text.durations(
        "headgate_job_wait_seconds",
        "How long jobs waited before their first attempt, from when they could run.",
        &sums.wait,
        seconds(sums.wait_us),
    );
    text.gauge("headgate_leader_term", "Rises by one with each new leader.", &[], measures.term);
    services(text, &measures.services);
    database(text, measures);
    recount(text, measures);
}

fn services(text: &mut Text, services: &[ServiceState]) {
    for service in services {
        let about = "Successful runs of a maintenance service, by any leader.";
        text.counter("headgate_maintenance_runs_total", about, &[("service", &service.name)], service.runs);
    }
    for service in services {
        let labels = [("service", service.name.as_str())];
        text.counter("headgate_maintenance_failures_total", "Failed runs.", &labels, service.failures);
    }
    for service in services {
        let labels = [("service", service.name.as_str())];
        let about = "Failures since the last successful run.";
        text.gauge("headgate_maintenance_failures_in_a_row", about, &labels, service.failures_in_a_row);
    }
    for service in services {
        let labels = [("service", service.name.as_str())];
        let about = "Jobs it could not move and skipped, counted each time: the log names them.";
        text.counter("headgate_maintenance_passed_over_jobs_total", about, &labels, service.passed_over);
    }
    for (service, age) in services.iter().filter_map(|s| Some((s, s.seconds_since_success?))) {
        let labels = [("service", service.name.as_str())];
        let about = "Time since the last successful run.";
        text.gauge("headgate_maintenance_last_success_age_seconds", about, &labels, age);
    }
    for service in services {
        let labels = [("service", service.name.as_str())];
        let about = "How long the last run took.";
        text.gauge("headgate_maintenance_last_run_duration_seconds", about, &labels, service.took_seconds);
    }
}

fn database(text: &mut Text, measures: &Measures) {
    let tables = &measures.tables;
    for table in tables {
        let labels = [("table", table.name.as_str())];
        text.gauge("headgate_table_rows", "Rows, by Postgres' statistics.", &labels, table.live_rows);
    }
    for table in tables {
        let labels = [("table", table.name.as_str())];
        let about = "Dead row versions, by Postgres' statistics.";
        text.gauge("headgate_table_dead_rows", about, &labels, table.dead_rows);
    }
    for table in tables {
        let labels = [("table", table.name.as_str())];
        text.gauge("headgate_table_size_bytes", "Size with indexes.", &labels, table.bytes);
    }
    for (table, age) in tables.iter().filter_map(|t| Some((t, t.seconds_since_vacuum?))) {
        let labels = [("table", table.name.as_str())];
        text.gauge("headgate_table_last_vacuum_age_seconds", "Time since the last vacuum.", &labels, age);
    }
    let oldest = measures.oldest_transaction.as_ref().map_or(0.0, |open| open.age_seconds);
    let about = "Age of the oldest open transaction of the database: vacuum removes no row that died since.";
    text.gauge("headgate_oldest_transaction_age_seconds", about, &[], oldest);
    let about =
        "Age of the oldest snapshot in transactions, including replication slots and prepared transactions.";
    text.gauge("headgate_snapshot_horizon_transactions", about, &[], measures.horizon_transactions);
    text.gauge("headgate_database_size_bytes", "Size of the database.", &[], measures.database_bytes);
    let about = "Days after today that have partitions.";
    text.gauge("headgate_partition_days_ahead", about, &[], measures.partition_days_ahead);
}

fn recount(text: &mut Text, measures: &Measures) {
    let recount = &measures.recount;
    let about =
        "By how many jobs, records and failures the last recount found counters wrong; it corrected them.";
    text.gauge("headgate_count_drift_jobs", about, &[], recount.drift);
    let about = "The same over all recounts.";
    text.counter("headgate_count_repaired_jobs_total", about, &[], recount.repaired);
    if let Some(at) = recount.finished_at {
        let about = "When the last recount ended.";
        text.gauge("headgate_recount_last_run_timestamp_seconds", about, &[], at.timestamp());
    }
    for (result, n) in [("proven", recount.proven), ("not_proven", recount.unproven)] {
        let about = "Integrations (apps for records, causes for failures) in the last recount; those with too many rows to count are not proven.";
        text.gauge("headgate_recount_integrations", about, &[("result", result)], n);
    }
    for table in ["ready", "waiting", "serialize_keys", "serialized_jobs", "jobs"] {
        let n = measures.tidied.get(table).copied().unwrap_or(0);
        let about = "Rows removed because they belonged to no job, and jobs put back into a queue they were missing from: 0 unless something went wrong.";
        text.counter("headgate_tidied_rows_total", about, &[("table", table)], n);
    }
}
