//! The tests of all crates, on one throw-away cluster: `sqlx::test` creates a database in it for each test.

use super::counts::Counts;
use crate::{process, services::Services, workspace};
use anyhow::Result;
use std::{collections::BTreeSet, process::Command};

/// Test programs that mostly wait, for killed processes or for leases to run out.
const WAITING: [&str; 2] = ["faults", "program"];

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Part {
    /// The programs of [`WAITING`].
    Waiting,
    /// All others.
    Working,
}

/// Plain `cargo test`, so that results are the same on every machine, whatever test runners it has.
///
/// The crates are named, without xtask, so that features resolve exactly as in `run::build_server` and nothing is compiled
/// twice.
fn cargo_test() -> Command {
    let mut command = process::cargo();
    command.args(["test", "--locked", "--no-fail-fast", "--features", "app/ssr"]);
    for package in ["model", "queue", "insight", "access", "delivery", "service", "app", "server"] {
        command.args(["-p", package]);
    }
    command
}

pub(super) fn build() -> Result<()> {
    process::run(cargo_test().arg("--no-run"))
}

/// Migrates the template that new databases are copied from: applying the migrations in each test would be a quarter of its time.
pub(super) fn migrate_template(services: &Services) -> Result<()> {
    process::run(
        Command::new(workspace::debug_program())
            .arg("migrate")
            .env("HEADGATE_DATABASE_URL", services.url("template1")),
    )
}

/// Runs a part; drops `begun` when its first tests start, because cargo's lock is free from then on.
pub(super) fn run<T>(services: &Services, part: Part, begun: T) -> Result<(Counts, Result<()>)> {
    let mut command = cargo_test();
    if part == Part::Working {
        command.args(["--lib", "--bins"]);
    }
    for name in
        test_programs()?.iter().filter(|name| WAITING.contains(&name.as_str()) == (part == Part::Waiting))
    {
        command.args(["--test", name]);
    }
    Ok(count(command.env("DATABASE_URL", services.url("postgres")), begun))
}

/// Runs the examples in doc comments, which cargo cannot run together with other tests.
pub(super) fn run_examples(services: &Services) -> Result<(Counts, Result<()>)> {
    Ok(count(cargo_test().arg("--doc").env("DATABASE_URL", services.url("postgres")), ()))
}

pub(super) fn run_own() -> Result<(Counts, Result<()>)> {
    Ok(count(process::cargo().args(["test", "--locked", "--no-fail-fast", "-p", "xtask"]), ()))
}

/// Each is a folder `tests/NAME` of a crate, with a `main.rs`.
fn test_programs() -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for sources in ["server", "app", "crates"] {
        for file in workspace::files_below(&workspace::root().join(sources))? {
            let mut folders = file.ancestors().skip(1).filter_map(|folder| folder.file_name()?.to_str());
            if let (true, Some(name), Some("tests")) =
                (file.ends_with("main.rs"), folders.next(), folders.next())
            {
                names.insert(name.to_owned());
            }
        }
    }
    Ok(names)
}

fn count<T>(command: &mut Command, begun: T) -> (Counts, Result<()>) {
    let mut counts = Counts::default();
    let mut begun = Some(begun);
    let result = process::run_watched(command, |line| {
        if line.trim_start().starts_with("Running ") {
            begun = None;
        }
        counts.read_cargo(line);
    });
    (counts, result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_program_is_found() {
        let names = test_programs().unwrap();
        assert!(WAITING.iter().all(|name| names.contains(*name)), "{names:?}");
        assert!(
            ["access", "api", "embedded", "it", "service"].iter().all(|name| names.contains(*name)),
            "{names:?}"
        );
    }
}
