//! `make test`: everything, from scratch. A failed step does not stop those that do not need it, so that one run
//! shows all faults; the last lines are the summary.

mod browser;
mod counts;
mod rust;
mod summary;

use crate::{check, css, front, prepare, progress, run, services::Services, setup};
use anyhow::Result;
use std::process::ExitCode;
use summary::Summary;

pub(crate) fn run() -> Result<ExitCode> {
    let mut summary = Summary::default();
    summary.record("setup", || setup::run(setup::Purpose::Test));
    summary.record("format", || progress::step("format", check::format));
    summary.record("class names", css::check);
    summary.record("clippy", || progress::step("clippy", check::clippy));
    summary.record("clippy (wasm)", || progress::step("clippy (wasm)", check::clippy_wasm));
    summary.record("docs", || progress::step("docs", check::docs));
    summary.record("types of end2end", || progress::step("types of end2end", browser::check_types));
    match Services::start() {
        Ok(services) => with_services(&mut summary, &services),
        Err(error) => summary.failed("throw-away Postgres", &error),
    }
    print!("{summary}");
    Ok(if summary.is_green() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn with_services(summary: &mut Summary, services: &Services) {
    summary.record(".sqlx is fresh", || progress::step(".sqlx is fresh", || prepare::check_with(services)));
    if summary.record("build tests", || progress::step("build tests", rust::build)) {
        summary.record_tests("Rust tests", || progress::step("Rust tests", || rust::run(services)));
        summary.record_tests("xtask tests", || progress::step("xtask tests", rust::run_own));
    }
    let has_front = summary.record("console (wasm)", || front::build(front::Mode::Dev));
    let has_program = summary.record("headgate", || progress::step("headgate", run::build_server));
    if has_front && has_program {
        summary.record_tests("browser tests", || progress::step("browser tests", || browser::run(services)));
    } else {
        summary.skipped("browser tests", "there is nothing to open");
    }
}
