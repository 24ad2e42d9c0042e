//! `make run`: from a fresh clone to a live console.

use crate::{front, process, progress, setup, workspace};
use anyhow::{Context, Result};
use std::{os::unix::process::CommandExt, process::Command};

/// Builds everything and replaces itself by `headgate demo`, whose last lines are its address and a sign-in link.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    setup::run(setup::Purpose::Run)?;
    front::build_during(front::Mode::Dev, || progress::step("headgate", build_server))?;
    let program = workspace::debug_program();
    progress::note(&format!(
        "everything is built after {}: headgate demo",
        progress::seconds(progress::elapsed())
    ));
    // `exec`, so that Ctrl-C and SIGTERM reach the program directly.
    let error = Command::new(&program).arg("demo").args(arguments).exec();
    Err(error).with_context(|| program.display().to_string())
}

/// Builds the program for `run` and `dev`.
pub(crate) fn build_server() -> Result<()> {
    process::run(&mut server_build())
}

/// Those that the program's tests need: so nothing is compiled twice.
pub(crate) const SERVER_FEATURES: &str = "queue/testing,model/fixtures";

/// The command that does it.
pub(crate) fn server_build() -> Command {
    let mut command = process::cargo();
    command.args(["build", "--locked", "-p", "server", "--features", SERVER_FEATURES]);
    command
}
