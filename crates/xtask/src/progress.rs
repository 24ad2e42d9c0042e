//! Prints a line when a step begins and one when it ends, with its duration and the time since the start.

use anyhow::Result;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

static STARTED: OnceLock<Instant> = OnceLock::new();

/// Starts the clock that all progress lines show.
pub(crate) fn start() {
    elapsed();
}

/// Time since the start of this run.
pub(crate) fn elapsed() -> Duration {
    STARTED.get_or_init(Instant::now).elapsed()
}

/// Runs `work` between two progress lines.
pub(crate) fn step<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let total = elapsed();
    eprintln!("==> [{}] {name}", seconds(total));
    let started = Instant::now();
    let result = work();
    let verdict = if result.is_ok() { "done" } else { "FAILED" };
    eprintln!("    [{}] {name}: {verdict} after {}", seconds(elapsed()), seconds(started.elapsed()));
    result
}

pub(crate) fn note(text: &str) {
    eprintln!("    {text}");
}

/// `4.2 s`, or `3 min 07 s` from a minute on.
pub(crate) fn seconds(duration: Duration) -> String {
    let whole = duration.as_secs();
    if whole < 60 {
        format!("{:.1} s", duration.as_secs_f64())
    } else {
        format!("{} min {:02} s", whole / 60, whole % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_readable() {
        assert_eq!(seconds(Duration::from_millis(4_240)), "4.2 s");
        assert_eq!(seconds(Duration::from_secs(187)), "3 min 07 s");
    }
}
