//! The table of all steps with their results and durations; each failure is below its row, so that the end of a log shows what failed.

use super::counts::Counts;
use crate::progress;
use anyhow::{Error, Result};
use std::cmp::Reverse;
use std::fmt;
use std::time::{Duration, Instant};

/// How many of the slowest parts are listed.
const SLOWEST: usize = 10;

#[derive(Default)]
pub(super) struct Summary {
    rows: Vec<Row>,
}

struct Row {
    step: &'static str,
    outcome: Outcome,
    counts: Option<Counts>,
    took: Duration,
}

enum Outcome {
    Ok,
    Failed(String),
    Skipped(&'static str),
}

impl Summary {
    /// Runs a step and records its result; returns whether it succeeded.
    pub(super) fn record(&mut self, step: &'static str, work: impl FnOnce() -> Result<()>) -> bool {
        let started = Instant::now();
        let result = work();
        self.push(step, result, None, started.elapsed())
    }

    /// As [`record`](Self::record), for a step that counts tests.
    pub(super) fn record_tests(
        &mut self,
        step: &'static str,
        work: impl FnOnce() -> Result<(Counts, Result<()>)>,
    ) -> bool {
        let started = Instant::now();
        match work() {
            Ok((counts, result)) => self.push(step, result, Some(counts), started.elapsed()),
            Err(error) => self.push(step, Err(error), None, started.elapsed()),
        }
    }

    pub(super) fn failed(&mut self, step: &'static str, error: &Error) {
        let outcome = Outcome::Failed(format!("{error:#}"));
        self.rows.push(Row { step, outcome, counts: None, took: Duration::ZERO });
    }

    pub(super) fn skipped(&mut self, step: &'static str, why: &'static str) {
        self.rows.push(Row { step, outcome: Outcome::Skipped(why), counts: None, took: Duration::ZERO });
    }

    pub(super) fn append(&mut self, other: Self) {
        self.rows.extend(other.rows);
    }

    /// A skipped step is not green: its result is unknown.
    pub(super) fn is_green(&self) -> bool {
        self.rows.iter().all(|row| matches!(row.outcome, Outcome::Ok))
    }

    /// The steps, and in place of a step that runs tests its programs or files of journeys, the slowest first.
    fn slowest(&self) -> Vec<(String, Duration)> {
        let mut parts = Vec::new();
        for row in &self.rows {
            let before = parts.len();
            let pieces = row.counts.iter().flat_map(|counts| counts.took.iter());
            parts.extend(pieces.map(|(name, took)| (format!("{}: {name}", row.step), took)));
            if parts.len() == before {
                parts.push((row.step.to_owned(), row.took));
            }
        }
        parts.sort_by_key(|(_, took)| Reverse(*took));
        parts.truncate(SLOWEST);
        parts
    }

    fn push(
        &mut self,
        step: &'static str,
        result: Result<()>,
        counts: Option<Counts>,
        took: Duration,
    ) -> bool {
        let is_ok = result.is_ok();
        let outcome = result.map_or_else(
            |error| {
                let error = format!("{error:#}");
                eprintln!("    {step}: {error}");
                Outcome::Failed(error)
            },
            |()| Outcome::Ok,
        );
        self.rows.push(Row { step, outcome, counts, took });
        is_ok
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{:<53}{:>8}", "slowest parts", "seconds")?;
        for (part, took) in self.slowest() {
            writeln!(f, "  {part:<51}{:>8.1}", took.as_secs_f64())?;
        }
        writeln!(
            f,
            "\n{:<22}{:<9}{:>8}{:>8}{:>9}{:>9}",
            "step", "result", "passed", "failed", "skipped", "seconds"
        )?;
        let mut total = Counts::default();
        for row in &self.rows {
            write!(f, "{:<22}{:<9}", row.step, row.outcome.word())?;
            match &row.counts {
                Some(counts) => {
                    write!(f, "{:>8}{:>8}{:>9}", counts.passed, counts.failed, counts.skipped)?;
                    total.passed += counts.passed;
                    total.failed += counts.failed;
                    total.skipped += counts.skipped;
                }
                None => write!(f, "{:>25}", "")?,
            }
            write!(f, "{:>9.1}", row.took.as_secs_f64())?;
            if let Outcome::Skipped(why) = row.outcome {
                write!(f, "  {why}")?;
            }
            writeln!(f)?;
            if let Outcome::Failed(error) = &row.outcome {
                writeln!(f, "  {error}")?;
            }
            for name in row.counts.iter().flat_map(|counts| &counts.failures) {
                writeln!(f, "  {name}")?;
            }
        }
        let word = if self.is_green() { "ok" } else { "FAILED" };
        writeln!(
            f,
            "{:<22}{word:<9}{:>8}{:>8}{:>9}{:>9.1}",
            "total",
            total.passed,
            total.failed,
            total.skipped,
            progress::elapsed().as_secs_f64()
        )
    }
}

impl Outcome {
    fn word(&self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed(_) => "FAILED",
            Self::Skipped(_) => "not run",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_sums_up_all_tests() {
        let mut summary = Summary::default();
        summary.record("format", || Ok(()));
        let counts = Counts {
            passed: 7,
            failed: 1,
            skipped: 2,
            failures: vec!["the_other".into()],
            ..Counts::default()
        };
        summary.record_tests("Rust tests", || Ok((counts, Err(anyhow::anyhow!("exit 101")))));
        let text = summary.to_string();
        let last: Vec<&str> = text.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(last[..5], ["total", "FAILED", "7", "1", "2"], "{text}");
        let at_row: Vec<&str> =
            text.lines().skip_while(|line| !line.starts_with("Rust tests")).take(3).collect();
        assert_eq!(at_row[1..], ["  exit 101", "  the_other"], "{text}");
    }

    #[test]
    fn the_slowest_parts_are_steps_and_pieces_of_steps() {
        let mut summary = Summary::default();
        let mut counts = Counts::default();
        for (name, seconds) in [("queue it", 70), ("model", 1)] {
            counts.took.add(name, Duration::from_secs(seconds));
        }
        summary.push("Rust tests", Ok(()), Some(counts), Duration::from_secs(90));
        for seconds in 10..30 {
            summary.push("clippy", Ok(()), None, Duration::from_secs(seconds));
        }
        let slowest = summary.slowest();
        assert_eq!(slowest.len(), SLOWEST);
        assert_eq!(slowest[0], ("Rust tests: queue it".to_owned(), Duration::from_secs(70)));
        assert_eq!(slowest[1], ("clippy".to_owned(), Duration::from_secs(29)));
    }

    #[test]
    fn a_step_that_did_not_run_is_not_green() {
        let mut summary = Summary::default();
        summary.skipped("browser tests", "there is nothing to open");
        assert!(!summary.is_green());
    }
}
