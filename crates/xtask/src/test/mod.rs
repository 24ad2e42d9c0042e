//! `make test`: everything, from scratch. A failed step does not stop those that do not need it, so that one run
//! shows all faults; the last lines are the summary.

mod browser;
mod counts;
mod rust;
mod summary;

use crate::{check, css, front, prepare, progress, run, services::Services, setup};
use anyhow::{Result, anyhow};
use std::{process::ExitCode, thread};
use summary::Summary;

pub(crate) fn run() -> Result<ExitCode> {
    let mut summary = Summary::default();
    summary.record("setup", || setup::run(setup::Purpose::Test));
    summary.record("format", || progress::step("format", check::format));
    summary.record("class names", css::check);
    thread::scope(|scope| {
        // In a target directory of its own, and much of it is one core's work.
        let browsers_half = scope.spawn(browsers_half);
        summary.record("clippy", || progress::step("clippy", check::clippy));
        summary.record("docs", || progress::step("docs", check::docs));
        let services = Services::start();
        if let Ok(services) = &services {
            rust_tests(&mut summary, services);
        }
        summary.record_tests("xtask tests", || progress::step("xtask tests", rust::run_own));
        let has_front = match browsers_half.join() {
            Ok((half, has_front)) => {
                summary.append(half);
                has_front
            }
            Err(_) => summary.record("console (wasm)", || Err(anyhow!("its build panicked"))),
        };
        match services {
            Ok(services) => journeys(&mut summary, &services, has_front),
            Err(error) => summary.failed("throw-away Postgres", &error),
        }
    });
    print!("{summary}");
    Ok(if summary.is_green() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What browsers load; answers whether there is something to open.
fn browsers_half() -> (Summary, bool) {
    let mut summary = Summary::default();
    let has_front = summary.record("console (wasm)", || front::build(front::Mode::Dev));
    summary.record("clippy (wasm)", || progress::step("clippy (wasm)", check::clippy_wasm));
    summary.record("types of end2end", || progress::step("types of end2end", browser::check_types));
    (summary, has_front)
}

fn rust_tests(summary: &mut Summary, services: &Services) {
    summary.record(".sqlx is fresh", || progress::step(".sqlx is fresh", || prepare::check_with(services)));
    if summary.record("build tests", || progress::step("build tests", rust::build)) {
        summary.record("migrations", || progress::step("migrations", || rust::migrate_template(services)));
        summary.record_tests("Rust tests", || progress::step("Rust tests", || rust::run(services)));
    } else {
        summary.skipped("Rust tests", "they were not built");
    }
}

fn journeys(summary: &mut Summary, services: &Services, has_front: bool) {
    let has_program = summary.record("headgate", || progress::step("headgate", run::build_server));
    if has_front && has_program {
        summary.record_tests("browser tests", || progress::step("browser tests", || browser::run(services)));
    } else {
        summary.skipped("browser tests", "there is nothing to open");
    }
}
