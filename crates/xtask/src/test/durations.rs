//! What test programs and journeys took, from the lines that their runners print.

use crate::workspace;
use std::{collections::BTreeMap, fs, path::Path, time::Duration};

/// Sums by name.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Durations(BTreeMap<String, Duration>);

impl Durations {
    pub(super) fn add(&mut self, name: &str, took: Duration) {
        *self.0.entry(name.to_owned()).or_default() += took;
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, Duration)> {
        self.0.iter().map(|(name, took)| (name.as_str(), *took))
    }
}

/// `850ms`, `12.3s` or `1.2m`.
pub(super) fn parse(text: &str) -> Option<Duration> {
    let (number, seconds) = [("ms", 0.001), ("s", 1.0), ("m", 60.0)]
        .into_iter()
        .find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)))?;
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()
}

/// The name of the program in cargo's `tests/it/main.rs (target/debug/deps/it-0a1b2c)`: `queue it`, since several crates have an `it`.
pub(super) fn test_program(line: &str) -> Option<String> {
    let (source, program) = line.split_once(" (")?;
    let program = Path::new(program.strip_suffix(')')?);
    let (name, hash) = program.file_name()?.to_str()?.rsplit_once('-')?;
    if !source.starts_with("tests/") {
        return Some(name.to_owned());
    }
    // Beside it is the list of its sources, whose paths start with the crate's folder.
    let sources = fs::read_to_string(workspace::root().join(program.with_extension("d"))).unwrap_or_default();
    let krate = sources
        .split_whitespace()
        .find_map(|file| Path::new(file.strip_suffix(source)?).file_name()?.to_str());
    Some(format!("{} {name}", krate.unwrap_or(hash)))
}

/// The file of a journey and what it took, from Playwright's `✓  18 [hydrated] › tests/jobs.spec.ts:77:1 › a job waits (12.3s)`.
pub(super) fn journey(line: &str) -> Option<(&str, Duration)> {
    let (_, place) = line.split_once("] › ")?;
    let (file, _) = place.split_once(':')?;
    let (_, took) = place.strip_suffix(')')?.rsplit_once(" (")?;
    Some((file.strip_prefix("tests/").unwrap_or(file), parse(took)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_all_units_are_read() {
        for (text, seconds) in [("850ms", 0.85), ("12.3s", 12.3), ("1.5m", 90.0), ("0.00s", 0.0)] {
            assert_eq!(parse(text), Some(Duration::from_secs_f64(seconds)), "{text}");
        }
        assert_eq!(parse("skipped"), None);
        assert_eq!(parse("-1s"), None);
    }

    #[test]
    fn a_test_program_is_named_with_its_crate() {
        let unit = test_program("unittests src/lib.rs (target/debug/deps/queue-0a1b)");
        assert_eq!(unit.as_deref(), Some("queue"));
        let unknown = test_program("tests/it/main.rs (target/debug/deps/it-0a1b)");
        assert_eq!(unknown.as_deref(), Some("0a1b it"));
        let folder = std::env::temp_dir().join(format!("headgate-durations-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("it-0a1b.d"), "it-0a1b: crates/queue/tests/it/main.rs crates/x.rs").unwrap();
        let known = test_program(&format!("tests/it/main.rs ({})", folder.join("it-0a1b").display()));
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(known.as_deref(), Some("queue it"));
    }

    #[test]
    fn a_journey_counts_for_its_file() {
        let line = "✓  18 [hydrated] › tests/jobs.spec.ts:77:1 › a job that waits tells why (12.3s)";
        assert_eq!(journey(line), Some(("jobs.spec.ts", Duration::from_secs_f64(12.3))));
        assert_eq!(journey("1) [hydrated] › tests/jobs.spec.ts:77:1 › a job (of many) ────"), None);
        assert_eq!(journey("-  3 [hydrated] › tests/jobs.spec.ts:9:1 › a job (skipped)"), None);
    }
}
