//! `make build`: the one binary to put on a server, with the console inside.

use crate::{front, process, progress, setup, workspace};
use anyhow::Result;

pub(crate) fn run() -> Result<()> {
    setup::run(setup::Purpose::Run)?;
    front::build(front::Mode::Release)?;
    progress::step("headgate (release)", || {
        process::run(process::cargo().args(["build", "--locked", "--release", "-p", "server"]))
    })?;
    let program = workspace::target_dir().join("release/headgate");
    let bytes = std::fs::metadata(&program)?.len();
    progress::note(&format!("{} ({:.1} MB)", program.display(), bytes as f64 / 1e6));
    Ok(())
}
