//! The tests of all crates, against one throw-away cluster: `sqlx::test` makes a database in it for each test.

use super::counts::Counts;
use crate::{process, services::Services, workspace};
use anyhow::Result;
use std::process::Command;

/// Plain `cargo test`, here as on every machine: a runner that only some have would make two truths.
///
/// The crates are named, and xtask is left to itself, so that features resolve exactly as in `run::build_server`
/// and nothing is compiled twice.
fn cargo_test() -> Command {
    let mut command = process::cargo();
    command.args(["test", "--locked", "--no-fail-fast", "--features", "app/ssr"]);
    for package in ["model", "queue", "access", "delivery", "app", "server"] {
        command.args(["-p", package]);
    }
    command
}

pub(super) fn build() -> Result<()> {
    process::run(cargo_test().arg("--no-run"))
}

/// Puts the schema into what new databases are copied from: a test finds its migrations applied, which would be a quarter of its time.
pub(super) fn migrate_template(services: &Services) -> Result<()> {
    process::run(
        Command::new(workspace::debug_program())
            .arg("migrate")
            .env("HEADGATE_DATABASE_URL", services.url("template1")),
    )
}

pub(super) fn run(services: &Services) -> Result<(Counts, Result<()>)> {
    Ok(count(cargo_test().env("DATABASE_URL", services.url("postgres"))))
}

pub(super) fn run_own() -> Result<(Counts, Result<()>)> {
    Ok(count(process::cargo().args(["test", "--locked", "--no-fail-fast", "-p", "xtask"])))
}

fn count(command: &mut Command) -> (Counts, Result<()>) {
    let mut counts = Counts::default();
    let result = process::run_watched(command, |line| counts.read_cargo(line));
    (counts, result)
}
