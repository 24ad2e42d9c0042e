//! `make bench`: measures the engine beside the floor and the console's pages, on a Postgres of its own (crates/bench says what).

use crate::{
    front, process, progress,
    services::{self, Services},
    setup, workspace,
};
use anyhow::{Context, Result};
use std::process::Command;

pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    setup::run(setup::Purpose::Run)?;
    // The pages are those of the program as it ships; which wasm lies beside them does not matter for their time.
    front::build(front::Mode::Dev)?;
    progress::step("bench and headgate (release)", || {
        process::run(process::cargo().args(["build", "--locked", "--release", "-p", "bench", "-p", "server"]))
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
            .env("HEADGATE_BENCH_PGBIN", binaries)
            .env("HEADGATE_BENCH_PGLOG", services.log()),
    )
}
