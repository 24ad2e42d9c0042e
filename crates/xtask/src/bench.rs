//! `make bench`: measures the engine beside the floor, on a Postgres of its own (crates/bench says what).

use crate::{
    process, progress,
    services::{self, Services},
    setup, workspace,
};
use anyhow::{Context, Result};
use std::process::Command;

pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    setup::run(setup::Purpose::Run)?;
    progress::step("bench (release)", || {
        process::run(process::cargo().args(["build", "--locked", "--release", "-p", "bench"]))
    })?;
    let services = Services::start_durable()?;
    // pgbench lies beside the server's programs, which are not on everybody's path.
    let binaries =
        services::find_binaries().context("no PostgreSQL server: `cargo xtask setup` installs it")?;
    let target = workspace::target_dir();
    process::run(
        Command::new(target.join("release/bench"))
            .arg("--json")
            .arg(target.join("bench.json"))
            .args(arguments)
            .env("DATABASE_URL", services.url("postgres"))
            .env("HEADGATE_BENCH_PGBIN", binaries),
    )
}
