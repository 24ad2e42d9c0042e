//! `make test`: everything, from scratch. A failed step does not stop steps that do not depend on it, so that one run
//! shows all faults; the last lines are the ten slowest parts and the summary.

mod browser;
mod counts;
mod durations;
mod rust;
mod summary;

use crate::prepare::{self, Describer};
use crate::{check, css, dependencies, front, lint::Lints, progress, services::Services, setup};
use anyhow::{Result, anyhow};
use rust::Part;
use std::{convert::Infallible, process::ExitCode, sync::mpsc, thread};
use summary::Summary;

pub(crate) fn run() -> Result<ExitCode> {
    let mut summary = Summary::default();
    summary.record("setup", || setup::run(setup::Purpose::Test));
    summary.record("format", || progress::step("format", check::format));
    summary.record("class names", css::check);
    summary.record("unused dependencies", dependencies::check);
    thread::scope(|scope| {
        // In parallel: it has a target directory of its own, and uses one core most of the time.
        let browsers_half = scope.spawn(browsers_half);
        let mut lints = Lints::default();
        let services = Services::start();
        let mut describer = None;
        let is_built = summary.record("build tests", || {
            if let Ok(services) = &services {
                describer = Describer::of_first_build(services)?;
            }
            progress::step("build tests", || rust::build(&mut lints, describer.as_ref()))
        });
        match &services {
            Ok(services) if is_built => rust_tests(&mut summary, services, describer, &mut lints),
            _ => {
                summary.skipped("Rust tests", "they were not built, or there is no Postgres");
                xtask_tests(&mut summary, &mut lints);
            }
        }
        let has_front = match browsers_half.join() {
            Ok((half, has_front, lints_of_half)) => {
                summary.append(half);
                lints.add(&lints_of_half);
                has_front
            }
            Err(_) => summary.record("console (wasm)", || Err(anyhow!("the build panicked"))),
        };
        summary.record("clippy", || lints.verdict());
        match services {
            Ok(services) if is_built && has_front => journeys(&mut summary, &services),
            Ok(_) => summary.skipped("browser tests", "there is nothing to open"),
            Err(error) => summary.failed("throw-away Postgres", &error),
        }
    });
    print!("{summary}");
    Ok(if summary.is_green() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Builds and lints what browsers load; returns whether the browser tests can run.
fn browsers_half() -> (Summary, bool, Lints) {
    let (mut summary, mut lints) = (Summary::default(), Lints::default());
    let has_front = summary.record("console (wasm)", || front::build_with_lints(&mut lints));
    summary.record("types of end2end", || progress::step("types of end2end", browser::check_types));
    (summary, has_front, lints)
}

fn rust_tests(summary: &mut Summary, services: &Services, describer: Option<Describer>, lints: &mut Lints) {
    summary.record("migrations", || progress::step("migrations", || rust::migrate_template(services)));
    thread::scope(|scope| {
        let (begun, has_begun) = mpsc::channel::<Infallible>();
        let parts =
            [("Rust tests", Part::Working), ("Rust tests that wait", Part::Waiting)].map(|(name, part)| {
                let begun = begun.clone();
                scope.spawn(move || {
                    let mut summary = Summary::default();
                    let run = || rust::run(services, part, begun);
                    summary.record_tests(name, || progress::step(name, run));
                    summary
                })
            });
        drop(begun);
        // The tests get cargo's lock first. Once they run they do not need it, and leave a core to what follows.
        let _ = has_begun.recv();
        summary.record_tests("examples and docs", || {
            progress::step("examples and docs", || rust::run_examples_and_write_docs(services))
        });
        summary.record(".sqlx is fresh", || {
            progress::step(".sqlx is fresh", || match describer {
                Some(describer) => describer.check(),
                None => prepare::check_with(services),
            })
        });
        xtask_tests(summary, lints);
        for part in parts {
            match part.join() {
                Ok(part) => summary.append(part),
                Err(_) => summary.failed("Rust tests", &anyhow!("the thread that runs them panicked")),
            }
        }
    });
}

fn xtask_tests(summary: &mut Summary, lints: &mut Lints) {
    summary.record_tests("xtask tests", || progress::step("xtask tests", || rust::run_own(lints)));
}

/// They open the program that the tests were built with.
fn journeys(summary: &mut Summary, services: &Services) {
    summary.record_tests("browser tests", || progress::step("browser tests", || browser::run(services)));
}
