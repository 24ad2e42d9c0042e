//! Counts tests from the output of test runners, and adds up what they took.

use super::durations::{self, Durations};

/// Numbers of tests by their result, and the names of those that failed.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Counts {
    pub(super) passed: u32,
    pub(super) failed: u32,
    pub(super) skipped: u32,
    pub(super) failures: Vec<String>,
    /// Whether the cause of the last failure is still to come.
    pub(super) is_unexplained: bool,
    /// What each test program or file of journeys took.
    pub(super) took: Durations,
    /// The test program that runs.
    pub(super) program: Option<String>,
}

impl Counts {
    /// Reads a line of cargo's test harness.
    pub(super) fn read_cargo(&mut self, line: &str) {
        if let Some(result) = line.strip_prefix("test result: ") {
            // ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s
            let numbers = result.split_once(". ").map_or(result, |(_, numbers)| numbers);
            for part in numbers.split("; ") {
                match (part.strip_prefix("finished in ").and_then(durations::parse), &self.program) {
                    (Some(took), Some(program)) => self.took.add(program, took),
                    _ => self.add(part),
                }
            }
        } else if let Some(program) =
            line.trim_start().strip_prefix("Running ").and_then(durations::test_program)
        {
            self.program = Some(program);
        } else if let Some(krate) = line.trim_start().strip_prefix("Doc-tests ") {
            self.program = Some(krate.to_owned());
        } else if let Some(name) =
            line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"))
        {
            self.failures.push(name.to_owned());
        }
    }

    /// Reads a line of Playwright's report. A failure is `  1) [project] › file:line:column › name ───`, followed by its cause; the summary at the
    /// end has the numbers: `  12 passed (1.2m)`.
    pub(super) fn read_playwright(&mut self, line: &str) {
        let Some(line_text) = line.strip_prefix("  ") else { return };
        if let Some((file, took)) = durations::journey(line_text) {
            self.took.add(file, took);
        }
        if let Some((_, name)) =
            line_text.split_once(") [").filter(|(number, _)| number.parse::<u32>().is_ok())
        {
            self.failures.push(format!("[{}", name.trim_end_matches(['─', ' '])));
            self.is_unexplained = true;
        } else if self.is_unexplained && line_text.starts_with("  ") {
            if let Some(name) = self.failures.last_mut() {
                name.push_str(": ");
                name.push_str(line_text.trim());
            }
            self.is_unexplained = false;
        } else {
            self.add(line);
        }
    }

    fn add(&mut self, part: &str) {
        let mut words = part.split_whitespace();
        let (Some(number), Some(word)) =
            (words.next().and_then(|word| word.parse::<u32>().ok()), words.next())
        else {
            return;
        };
        match word {
            "passed" | "flaky" => self.passed += number,
            "failed" | "interrupted" => self.failed += number,
            "ignored" | "skipped" | "did" => self.skipped += number,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, Durations};

    #[test]
    fn results_of_several_test_binaries_add_up() {
        let mut counts = Counts::default();
        for line in [
            "test lost_lease_cannot_complete ... ok",
            "test the_other ... FAILED",
            "test result: FAILED. 3 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            "test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out; finished in 1.00s",
        ] {
            counts.read_cargo(line);
        }
        let failures = vec!["the_other".to_owned()];
        assert_eq!(counts, Counts { passed: 7, failed: 1, skipped: 2, failures, ..Counts::default() });
    }

    #[test]
    fn what_each_test_program_took_is_kept() {
        let mut counts = Counts::default();
        for line in [
            "     Running unittests src/lib.rs (target/debug/deps/queue-0a1b)",
            "test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out; finished in 1.00s",
            "     Running tests/it/main.rs (target/debug/deps/it-0a1b)",
            "test result: ok. 3 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 61.25s",
            "   Doc-tests queue",
            "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.50s",
        ] {
            counts.read_cargo(line);
        }
        let took: Vec<_> = counts.took.iter().map(|(name, took)| (name, took.as_secs_f64())).collect();
        assert_eq!(took, [("0a1b it", 61.25), ("queue", 1.5)]);
    }

    #[test]
    fn playwrights_summary_is_understood() {
        let mut counts = Counts::default();
        for line in [
            "  1 failed",
            "  2 skipped",
            "  3 did not run",
            "  38 passed (1.2m)",
            "Running 44 tests using 1 worker",
        ] {
            counts.read_playwright(line);
        }
        assert_eq!((counts.passed, counts.failed, counts.skipped), (38, 1, 5));
    }

    #[test]
    fn a_failed_browser_test_is_named_with_its_cause() {
        let mut counts = Counts::default();
        for line in [
            "  ✘  18 [hydrated] › tests/jobs.spec.ts:77:1 › a job that waits tells why (12.3s)",
            "",
            "  1) [hydrated] › tests/jobs.spec.ts:77:1 › a job that waits tells why ──────────",
            "",
            "    Error: expect(locator).toContainText(expected) failed",
            "",
            "    Locator: getByRole('region')",
            "  1 failed",
            "    [hydrated] › tests/jobs.spec.ts:77:1 › a job that waits tells why ──────────",
        ] {
            counts.read_playwright(line);
        }
        let failures = vec![
            "[hydrated] › tests/jobs.spec.ts:77:1 › a job that waits tells why: Error: expect(locator).toContainText(expected) failed"
                .to_owned(),
        ];
        let mut took = Durations::default();
        took.add("jobs.spec.ts", std::time::Duration::from_millis(12_300));
        assert_eq!(counts, Counts { failed: 1, failures, took, ..Counts::default() });
    }
}
