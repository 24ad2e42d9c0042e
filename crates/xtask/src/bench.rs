//! `make bench`: runs `crates/bench` on a Postgres of its own.

use crate::services::{self, Services};
use crate::{front, process, progress, setup, workspace};
use anyhow::{Context, Result};
use std::process::Command;

pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    setup::run(setup::Purpose::Run)?;
    // The pages are measured without their wasm, so the fast build of it will do.
    front::build(front::Mode::Dev)?;
    progress::step("bench and headgate (release)", || {
        process::run(process::cargo().args(["build", "--locked", "--release", "-p", "bench", "-p", "server"]))
    })?;
    let services = Services::start_durable()?;
    // pgbench is next to the server's programs, which may not be on the path.
    let binaries =
        services::find_binaries().context("no PostgreSQL server: `cargo xtask setup` installs it")?;
    let target = workspace::target_dir();
    process::run(
        Command::new(target.join("release/bench"))
            .arg("--json")
            .arg(target.join("bench.json"))
            .args(arguments)
            .env("DATABASE_URL", services.url("postgres"))
            .env("HEADGATE_BENCH_PGBIN", binaries)
            .env("HEADGATE_BENCH_PGLOG", services.log()),
    )
}
