//! The health of each service, for `/readyz`, `/metrics` and the settings page.

use crate::mutex;
use chrono::{DateTime, Utc};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;

/// Failures in a row from which on a service is unhealthy: a few are normal, as during a restart of the database.
const UNHEALTHY_FROM: u32 = 5;

/// The health of one service in this process since its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceHealth {
    /// Its name.
    pub name: &'static str,
    /// Successful runs.
    pub runs: u64,
    /// Failed runs.
    pub failures: u64,
    /// Failures since the last successful run.
    pub failures_in_a_row: u32,
    /// Rows it could not process and skipped, counted each time.
    pub passed_over: u64,
    /// End of the last run, by this process's clock.
    pub last_run_at: Option<DateTime<Utc>>,
    /// End of the last successful run.
    pub last_success_at: Option<DateTime<Utc>>,
    /// How long the last run took.
    pub last_took: Duration,
    /// The error of the last failed run.
    pub last_error: Option<String>,
    /// When that run ended.
    pub last_error_at: Option<DateTime<Utc>>,
}

impl ServiceHealth {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            runs: 0,
            failures: 0,
            failures_in_a_row: 0,
            passed_over: 0,
            last_run_at: None,
            last_success_at: None,
            last_took: Duration::ZERO,
            last_error: None,
            last_error_at: None,
        }
    }

    /// Whether it works, apart from passing trouble.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.failures_in_a_row < UNHEALTHY_FROM
    }
}

/// Reads the health of a running [`super::Maintenance`]. Cheap to clone.
#[derive(Clone, Debug)]
pub struct MaintenanceHealth {
    services: Arc<Mutex<Vec<ServiceHealth>>>,
    leads: Arc<watch::Sender<bool>>,
}

impl MaintenanceHealth {
    pub(super) fn new(names: impl Iterator<Item = &'static str>) -> Self {
        let services = names.map(ServiceHealth::new).collect();
        Self { services: Arc::new(Mutex::new(services)), leads: Arc::new(watch::Sender::new(false)) }
    }

    /// Every service. In a process that never led, all counts are 0.
    #[must_use]
    pub fn services(&self) -> Vec<ServiceHealth> {
        mutex::lock(&self.services).clone()
    }

    /// Whether this process leads, as far as it knows.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        *self.leads.borrow()
    }

    /// Changes when this process begins or ceases to lead.
    #[must_use]
    pub fn watch_leader(&self) -> watch::Receiver<bool> {
        self.leads.subscribe()
    }

    pub(super) fn leads(&self, is_leader: bool) {
        if !is_leader {
            // Failures happen in another process from now on: this one must not stay unhealthy for ever.
            mutex::lock(&self.services).iter_mut().for_each(|service| service.failures_in_a_row = 0);
        }
        self.leads.send_replace(is_leader);
    }

    pub(super) fn succeeded(&self, name: &'static str, took: Duration) {
        self.change(name, took, |service| {
            service.last_success_at = service.last_run_at;
            service.runs += 1;
            service.failures_in_a_row = 0;
        });
    }

    /// Returns the number of failures in a row.
    pub(super) fn failed(&self, name: &'static str, took: Duration, error: String) -> u32 {
        let mut in_a_row = 1;
        self.change(name, took, |service| {
            service.failures += 1;
            service.failures_in_a_row = service.failures_in_a_row.saturating_add(1);
            service.last_error = Some(error);
            service.last_error_at = Some(Utc::now());
            in_a_row = service.failures_in_a_row;
        });
        in_a_row
    }

    pub(super) fn passed_over(&self, name: &'static str) {
        if let Some(service) = mutex::lock(&self.services).iter_mut().find(|service| service.name == name) {
            service.passed_over += 1;
        }
    }

    fn change(&self, name: &'static str, took: Duration, change: impl FnOnce(&mut ServiceHealth)) {
        if let Some(service) = mutex::lock(&self.services).iter_mut().find(|service| service.name == name) {
            service.last_run_at = Some(Utc::now());
            service.last_took = took;
            change(service);
        }
    }
}
