//! `make run`: from a fresh clone to a live console.

use crate::{front, process, progress, setup, workspace};
use anyhow::{Context, Result};
use std::{os::unix::process::CommandExt, process::Command};

/// Builds everything and becomes `headgate demo`, whose last lines are its address and a sign-in link.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    setup::run(setup::Purpose::Run)?;
    front::build_beside(front::Mode::Dev, || progress::step("headgate", build_server))?;
    let program = workspace::debug_program();
    progress::note(&format!(
        "everything is built after {}: headgate demo",
        progress::seconds(progress::elapsed())
    ));
    // The program takes our place: Ctrl-C and SIGTERM reach it directly.
    let error = Command::new(&program).arg("demo").args(arguments).exec();
    Err(error).with_context(|| program.display().to_string())
}

/// Builds the program as `run` and the browser tests use it: with the features its own tests have, so that nothing is compiled twice.
pub(crate) fn build_server() -> Result<()> {
    process::run(process::cargo().args(["build", "--locked", "-p", "server", "--features", "queue/testing"]))
}
