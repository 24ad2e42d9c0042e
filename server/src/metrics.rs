//! `/metrics` in Prometheus' text format: what the sampler keeps anyway and what the kernel knows of this process.
//!
//! Nothing is counted for a scrape: the numbers are those of the snapshot in memory. Labels are bounded by the number of integrations, and
//! that by `MOST_INTEGRATIONS`; the rest is in the totals. No names, which customers choose, only ids.

use axum::{
    Router,
    extract::{FromRef, State},
    http::header,
    response::IntoResponse,
    routing::get,
};
use model::{
    breaker::BreakerState,
    stats::{IntegrationGauge, Snapshot},
};
use queue::{live::LiveHub, maintenance::MaintenanceHealth};
use sqlx::PgPool;
use std::fmt::{Display, Write as _};

/// Integrations with series of their own: the largest backlogs first.
const MOST_INTEGRATIONS: usize = 500;

/// What is measured.
#[derive(Clone)]
pub struct Metrics {
    /// The newest snapshot.
    pub live: LiveHub,
    /// The services of this process.
    pub maintenance: MaintenanceHealth,
    /// Its connections.
    pub pool: PgPool,
}

/// The route.
pub fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Metrics: FromRef<S>,
{
    Router::new().route("/metrics", get(scrape))
}

async fn scrape(State(metrics): State<Metrics>) -> impl IntoResponse {
    let state = metrics.live.current();
    let mut text = Text::default();
    text.gauge("headgate_build_info", "The version that runs.", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    let age = state.age().map_or(f64::NAN, |age| age.as_secs_f64());
    text.gauge("headgate_snapshot_age_seconds", "How old the numbers of the whole deployment are.", &[], age);
    if let Some(snapshot) = &state.snapshot {
        deployment(&mut text, snapshot);
        integrations(&mut text, snapshot);
    }
    services(&mut text, &metrics.maintenance);
    let open = metrics.pool.size();
    let idle = u32::try_from(metrics.pool.num_idle()).unwrap_or(open);
    text.gauge(
        "headgate_database_connections",
        "Connections of the engine's pool.",
        &[("state", "idle")],
        idle,
    );
    text.gauge("headgate_database_connections", "", &[("state", "used")], open.saturating_sub(idle));
    process(&mut text);
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text.text)
}

fn deployment(text: &mut Text, snapshot: &Snapshot) {
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
    text.gauge(
        "headgate_delivered_per_minute",
        "Jobs completed in the last 60 s.",
        &[],
        totals.delivered_per_minute,
    );
    text.gauge(
        "headgate_failed_per_minute",
        "Failed attempts in the last 60 s.",
        &[],
        totals.failed_per_minute,
    );
    let oldest = totals.oldest_pending_age_seconds.unwrap_or(0);
    text.gauge("headgate_oldest_pending_age_seconds", "Age of the oldest claimable job.", &[], oldest);
    text.gauge("headgate_workers", "Processes that claim jobs.", &[], snapshot.workers);
    text.gauge("headgate_integrations", "Integrations there are.", &[], snapshot.integrations.len());
    let not_closed = "Integrations whose circuit breaker is not closed, by its state.";
    for state in [BreakerState::Open, BreakerState::HalfOpen, BreakerState::Ramping] {
        let is_so =
            |gauge: &&IntegrationGauge| gauge.breaker.as_ref().is_some_and(|breaker| breaker.state == state);
        let n = snapshot.integrations.iter().filter(is_so).count();
        text.gauge("headgate_breakers", not_closed, &[("state", state.as_str())], n);
    }
    // Attempts are bounded by the contract: 100 at most.
    for (index, n) in snapshot.retry_pyramid.iter().enumerate().take(100) {
        let attempt = (index + 1).to_string();
        text.gauge(
            "headgate_retry_pyramid",
            "Jobs to be retried by attempts made.",
            &[("attempts", &attempt)],
            n,
        );
    }
}

fn integrations(text: &mut Text, snapshot: &Snapshot) {
    let mut gauges: Vec<&IntegrationGauge> = snapshot.integrations.iter().collect();
    gauges.sort_by_key(|gauge| {
        (std::cmp::Reverse(gauge.backlog + gauge.to_be_retried + gauge.dead_letters), gauge.integration_id)
    });
    gauges.truncate(MOST_INTEGRATIONS);
    type Read = fn(&IntegrationGauge) -> i64;
    let series: [(&str, &str, Read); 7] = [
        ("headgate_integration_backlog", "Pending jobs.", |gauge| gauge.backlog),
        ("headgate_integration_processing", "Jobs being processed.", |gauge| gauge.processing),
        ("headgate_integration_to_be_retried", "Jobs that wait for another attempt.", |gauge| {
            gauge.to_be_retried
        }),
        ("headgate_integration_dead_letters", "Jobs given up.", |gauge| gauge.dead_letters),
        ("headgate_integration_delivered_per_minute", "Completed in the last 60 s.", |gauge| {
            gauge.delivered_per_minute
        }),
        ("headgate_integration_failed_per_minute", "Failed attempts in the last 60 s.", |gauge| {
            gauge.failed_per_minute
        }),
        ("headgate_integration_oldest_pending_age_seconds", "Age of the oldest claimable job.", |gauge| {
            gauge.oldest_pending_age_seconds.unwrap_or(0)
        }),
    ];
    let breaker = "Circuit breaker: 0 closed, 1 ramping up, 2 half-open, 3 open.";
    let series =
        series.into_iter().chain([("headgate_integration_breaker_state", breaker, breaker_state as Read)]);
    for (name, help, read) in series {
        for gauge in &gauges {
            let (app, id) = (gauge.app_id.to_string(), gauge.integration_id.to_string());
            text.gauge(name, help, &[("app_id", &app), ("integration_id", &id)], read(gauge));
        }
    }
}

/// The worse, the higher: so that an alert is a comparison.
fn breaker_state(gauge: &IntegrationGauge) -> i64 {
    match gauge.breaker.as_ref().map(|breaker| breaker.state) {
        None | Some(BreakerState::Closed) => 0,
        Some(BreakerState::Ramping) => 1,
        Some(BreakerState::HalfOpen) => 2,
        Some(BreakerState::Open) => 3,
    }
}

fn services(text: &mut Text, maintenance: &MaintenanceHealth) {
    let is_leader = i32::from(maintenance.is_leader());
    text.gauge("headgate_is_leader", "Whether this process runs the maintenance.", &[], is_leader);
    let services = maintenance.services();
    for service in &services {
        let labels = [("service", service.name)];
        text.counter("headgate_maintenance_runs_total", "Runs that went well.", &labels, service.runs);
    }
    for service in &services {
        let labels = [("service", service.name)];
        text.counter("headgate_maintenance_failures_total", "Runs that did not.", &labels, service.failures);
    }
}

/// Linux tells; elsewhere these are left out.
fn process(text: &mut Text) {
    let read = |path| std::fs::read_to_string(path).ok();
    if let Some(pages) = read("/proc/self/statm").and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok())
    {
        text.gauge("process_resident_memory_bytes", "Memory in use.", &[], pages * 4_096);
    }
    // Fields 14 and 15, counted behind the name, which may hold anything: clock ticks of a hundredth of a second.
    let ticks = read("/proc/self/stat").and_then(|text| {
        let fields: Vec<u64> = text
            .rsplit_once(") ")?
            .1
            .split(' ')
            .skip(11)
            .take(2)
            .filter_map(|field| field.parse().ok())
            .collect();
        Some(fields.iter().sum::<u64>())
    });
    if let Some(ticks) = ticks {
        text.counter("process_cpu_seconds_total", "Time on a processor.", &[], ticks as f64 / 100.0);
    }
    if let Ok(files) = std::fs::read_dir("/proc/self/fd") {
        text.gauge("process_open_fds", "Open files and sockets.", &[], files.count());
    }
}

/// The text as it grows. `HELP` and `TYPE` stand once before the series of a name, which must come one after the other.
#[derive(Default)]
struct Text {
    text: String,
    last_name: String,
}

impl Text {
    fn gauge(&mut self, name: &str, help: &str, labels: &[(&str, &str)], value: impl Display) {
        self.series("gauge", name, help, labels, value);
    }

    fn counter(&mut self, name: &str, help: &str, labels: &[(&str, &str)], value: impl Display) {
        self.series("counter", name, help, labels, value);
    }

    fn series(&mut self, kind: &str, name: &str, help: &str, labels: &[(&str, &str)], value: impl Display) {
        let text = &mut self.text;
        if self.last_name != name {
            name.clone_into(&mut self.last_name);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        }
        text.push_str(name);
        if !labels.is_empty() {
            let labels: Vec<String> =
                labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escape(value))).collect();
            let _ = write!(text, "{{{}}}", labels.join(","));
        }
        let _ = writeln!(text, " {value}");
    }
}

fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_explained_once() {
        let mut text = Text::default();
        text.gauge("a", "About a.", &[("x", "1\"\n")], 1);
        text.gauge("a", "About a.", &[("x", "2")], 2.5);
        text.counter("b", "About b.", &[], 3);
        assert_eq!(
            text.text,
            "# HELP a About a.\n# TYPE a gauge\na{x=\"1\\\"\\n\"} 1\na{x=\"2\"} 2.5\n# HELP b About b.\n# TYPE b counter\nb 3\n"
        );
    }

    #[test]
    fn the_process_is_measured_where_the_kernel_tells() {
        let mut text = Text::default();
        process(&mut text);
        if std::path::Path::new("/proc/self/stat").exists() {
            assert!(
                text.text.contains("process_cpu_seconds_total ") && text.text.contains("process_open_fds ")
            );
        }
    }
}
