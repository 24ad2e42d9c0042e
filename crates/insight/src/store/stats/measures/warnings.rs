//! Warnings that follow from the measures.

use super::Measures;
use model::stats::Warning;

/// An older transaction keeps dead rows from being removed for long enough to slow the queue down.
const OLD_TRANSACTION_SECONDS: f64 = 60.0;
/// Fewer days ahead mean that no process has created partitions for most of a week.
const MIN_DAYS_AHEAD: i32 = 2;

impl Measures {
    /// Warnings for operators, worst first.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let mut warn = |code: &str, message| warnings.push(Warning { code: code.to_owned(), message });
        if self.partition_days_ahead < MIN_DAYS_AHEAD {
            warn(
                "partitions_missing",
                format!(
                    "Day partitions exist for only {} days ahead; without today's no result can be recorded. The log of the service partitions says why.",
                    self.partition_days_ahead
                ),
            );
        }
        let failing: Vec<&str> = self
            .services
            .iter()
            .filter(|service| !service.is_healthy)
            .map(|service| service.name.as_str())
            .collect();
        if !failing.is_empty() {
            warn(
                "service_failing",
                format!("Maintenance services keep failing: {}. The log says why.", failing.join(", ")),
            );
        }
        if let Some(open) =
            self.oldest_transaction.as_ref().filter(|open| open.age_seconds >= OLD_TRANSACTION_SECONDS)
        {
            let program = if open.application.is_empty() { "an unnamed program" } else { &open.application };
            let remedy = open.pid.map_or_else(
                || "Commit it or roll it back.".to_owned(),
                |pid| format!("End it, or run select pg_terminate_backend({pid})."),
            );
            warn(
                "old_transaction",
                format!(
                    "A transaction of {program} has been open for {} s: no dead row can be removed meanwhile, and the queue slows down. {remedy}",
                    open.age_seconds.round()
                ),
            );
        }
        if self.recount.drift != 0 {
            warn(
                "counts_drift",
                format!(
                    "The last recount found counters wrong by {} jobs and corrected them. This is a bug in Headgate: please report it with the log.",
                    self.recount.drift
                ),
            );
        }
        if self.tables.iter().any(|table| !table.is_ours) {
            warn(
                "not_owner",
                "The database user does not own the queue's tables and cannot vacuum them: under load the queue slows down. Make it their owner."
                    .to_owned(),
            );
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::stats::{HotTable, OldTransaction, ServiceState};
    use queue::store::counts::recounts::LastRecount;

    #[test]
    fn there_are_warnings_of_what_is_wrong_and_no_others() {
        let well = Measures {
            partition_days_ahead: 7,
            oldest_transaction: Some(OldTransaction { age_seconds: 59.0, ..OldTransaction::default() }),
            tables: vec![HotTable { is_ours: true, ..HotTable::default() }],
            services: vec![ServiceState { is_healthy: true, ..ServiceState::default() }],
            ..Measures::default()
        };
        assert_eq!(well.warnings(), []);
        let codes = |measures: &Measures| {
            measures.warnings().into_iter().map(|warning| warning.code).collect::<Vec<_>>()
        };
        let old = OldTransaction { age_seconds: 420.4, application: "psql".into(), pid: Some(7) };
        let open = Measures { oldest_transaction: Some(old), ..well };
        assert_eq!(codes(&open), ["old_transaction"]);
        let message = &open.warnings()[0].message;
        assert!(
            message.contains("psql has been open for 420 s") && message.contains("pg_terminate_backend(7)"),
            "{message}"
        );
        let all = Measures {
            partition_days_ahead: 1,
            services: vec![ServiceState { name: "sample".into(), ..ServiceState::default() }],
            tables: vec![HotTable::default()],
            recount: LastRecount { drift: 3, ..LastRecount::default() },
            ..open
        };
        assert_eq!(
            codes(&all),
            ["partitions_missing", "service_failing", "old_transaction", "counts_drift", "not_owner"]
        );
    }
}
