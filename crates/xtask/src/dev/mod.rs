//! `make dev`: the demo, built again after each change of a source.
//!
//! Cargo decides what a change needs; both halves of the console are built at the same time. A fault of the compiler is shown, and the program
//! of the last good build keeps running.

mod program;
mod sources;

use crate::{front, process, progress, run, setup, workspace};
use anyhow::{Result, anyhow};
use program::Program;
use sources::Sources;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};
use std::{fs, thread};

/// Runs until it is interrupted.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    setup::run(setup::Purpose::Run)?;
    let mut built = Sources::scan()?;
    front::build_during(front::Mode::Watch, || progress::step("headgate", run::build_server))?;
    front::announce_build()?;
    let mut program = Program::start(arguments)?;
    let mut started_from = modified_program();
    progress::note("waiting for changes of the sources; Ctrl-C ends the program too");
    loop {
        let (sources, changed) = built.wait_for_change()?;
        built = sources;
        let began = Instant::now();
        let (server, browser) = match build() {
            Ok(took) => took,
            Err(error) => {
                eprintln!("==> {}: {error:#}; the last good build keeps running", summary(&changed));
                continue;
            }
        };
        let mut did = format!(
            "{}: server {}, browser {}",
            summary(&changed),
            progress::seconds(server),
            progress::seconds(browser)
        );
        if modified_program() == started_from && program.is_running() {
            front::announce_build()?;
        } else {
            let stopped = Instant::now();
            program.stop()?;
            // Before the new program answers: a page that reloads gets both halves of the same build.
            front::announce_build()?;
            started_from = modified_program();
            program = Program::start(arguments)?;
            did += &format!(", restart {}", progress::seconds(stopped.elapsed()));
        }
        eprintln!("==> {did}: the page reloads after {}", progress::seconds(began.elapsed()));
    }
}

/// Builds what is not fresh; returns how long the server's half and the browser's half took.
fn build() -> Result<(Duration, Duration)> {
    let timed = |work: &dyn Fn() -> Result<()>| {
        let began = Instant::now();
        work().map(|()| began.elapsed())
    };
    thread::scope(|scope| {
        let browser = scope.spawn(|| timed(&front::rebuild));
        let server = timed(&|| process::run(run::server_build().arg("--quiet")));
        let browser = browser.join().map_err(|_| anyhow!("the console's build panicked"))?;
        Ok((server?, browser?))
    })
}

fn modified_program() -> Option<SystemTime> {
    fs::metadata(workspace::debug_program()).and_then(|metadata| metadata.modified()).ok()
}

/// `app/src/app.rs and 2 more`
fn summary(changed: &[PathBuf]) -> String {
    let first = changed.first().map(|file| file.display().to_string()).unwrap_or_default();
    match changed.len() {
        0 | 1 => first,
        n => format!("{first} and {} more", n - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_many_files_is_named_by_the_first() {
        assert_eq!(summary(&["a.rs".into()]), "a.rs");
        assert_eq!(summary(&["a.rs".into(), "b.rs".into(), "c.rs".into()]), "a.rs and 2 more");
    }
}
