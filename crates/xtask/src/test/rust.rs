//! The tests of all crates, on one throw-away cluster: `sqlx::test` creates a database in it for each test.

use super::counts::Counts;
use crate::lint::{Lints, with_lints};
use crate::prepare::Describer;
use crate::services::Services;
use crate::{process, workspace};
use anyhow::Result;
use std::os::unix::fs::PermissionsExt as _;
use std::{collections::BTreeSet, fs, process::Command};

/// Test programs that mostly wait, for killed processes or for leases to run out.
const WAITING: [&str; 2] = ["faults", "program"];

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Part {
    /// The programs of [`WAITING`].
    Waiting,
    /// All others.
    Working,
}

/// The crates whose tests are built and run together: all but xtask, so that features resolve exactly as in `run::server_build`.
const PACKAGES: [&str; 9] =
    ["model", "queue", "insight", "access", "delivery", "service", "app", "server", "bench"];

/// `rustdoc --test …` as cargo calls it for the examples of a crate, and then without the arguments that only they need, for its pages.
const RUSTDOC_TWICE: &str = r#"#!/bin/sh
case " $* " in *" --test "*) ;; *) exec rustdoc "$@" ;; esac
rustdoc "$@"
examples=$?
left=$#
while [ "$left" -gt 0 ]; do
    case "$1" in
        --test | --no-run | --nocapture) ;;
        --test-run-directory | --test-args) shift; left=$((left - 1)) ;;
        *) set -- "$@" "$1" ;;
    esac
    shift
    left=$((left - 1))
done
rustdoc "$@" -D warnings --out-dir "$DOCS" && exit "$examples"
"#;

/// Plain `cargo test`, so that results are the same on every machine, whatever test runners it has.
fn cargo_test() -> Result<Command> {
    let mut command = process::cargo();
    command.args(["test", "--locked", "--no-fail-fast", "--features", "app/ssr"]);
    for package in PACKAGES {
        command.args(["-p", package]);
    }
    with_lints(&mut command)?;
    Ok(command)
}

/// Compiles and lints all of them, and describes their statements.
pub(super) fn build(lints: &mut Lints, describer: Option<&Describer>) -> Result<()> {
    let mut command = cargo_test()?;
    command.arg("--no-run");
    if let Some(describer) = describer {
        describer.describe(&mut command);
    }
    lints.run(&mut command)
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
    let mut command = cargo_test()?;
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

/// Runs the examples in doc comments, which cargo cannot run together with other tests, and writes the docs with the same builds of all crates:
/// `cargo doc` would check each of them once more.
pub(super) fn run_examples_and_write_docs(services: &Services) -> Result<(Counts, Result<()>)> {
    let script = workspace::target_dir().join("rustdoc-twice");
    fs::write(&script, RUSTDOC_TWICE)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    let mut command = cargo_test()?;
    command
        .arg("--doc")
        .env("RUSTDOC", &script)
        .env("DOCS", workspace::target_dir().join("doc"))
        .env("DATABASE_URL", services.url("postgres"));
    Ok(count(&mut command, ()))
}

/// Lints and runs the tests of xtask.
pub(super) fn run_own(lints: &mut Lints) -> Result<(Counts, Result<()>)> {
    let command = || {
        let mut command = process::cargo();
        command.args(["test", "--locked", "--no-fail-fast", "-p", "xtask"]);
        command
    };
    lints.run(command().arg("--no-run"))?;
    Ok(count(with_lints(&mut command())?, ()))
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
    use crate::run;

    /// With a feature more, `make run` and the tests would compile most crates for each other.
    #[test]
    fn the_program_and_its_tests_have_the_same_features() {
        let tree = |arguments: &[&str], packages: &[&str]| {
            let mut command = process::cargo();
            command.args(["tree", "--locked", "--offline", "--prefix", "none", "--format", "{p} {f}"]);
            command.args(arguments);
            for package in packages {
                command.args(["-p", package]);
            }
            let output = command.output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let text = String::from_utf8(output.stdout).unwrap();
            text.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect::<BTreeSet<_>>()
        };
        let of_tests = tree(&["--edges", "normal,build,dev", "--features", "app/ssr"], &PACKAGES);
        let of_program = tree(&["--edges", "normal,build", "--features", run::SERVER_FEATURES], &["server"]);
        assert_eq!(of_program.difference(&of_tests).collect::<Vec<_>>(), [] as [&String; 0]);
    }

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
