//! Headgate's build tool: `cargo xtask <step>`; the targets of the Makefile call it.
//!
//! It is a program instead of shell scripts and foreign tools, so that everything it needs is in our `Cargo.lock`
//! and a bare machine with Rust can build, run and test.

mod audit;
mod bench;
mod build;
mod check;
mod compress;
mod css;
mod dependencies;
mod dev;
mod front;
mod lint;
mod prepare;
mod process;
mod progress;
mod run;
mod services;
mod setup;
mod split;
mod test;
mod workspace;

use anyhow::{Result, bail};
use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask <step>

  run [-- ARGS]        build everything and start `headgate demo ARGS`
  dev [-- ARGS]        the demo, built again after each change of a source
  test                 everything CI checks, from scratch; ends with a summary
  check                the fast inner loop: format, classes, dependencies, clippy
  build                the release binary with the console inside: target/release/headgate
  prepare [--check]    write .sqlx (what compile-time checked SQL needs without a database), or fail when it is stale
  bench [-- ARGS]      what the engine costs, compared with bare Postgres: a table, and target/bench.json (about 20 minutes; -- --quick: one)
  audit                licences, bans, sources and advisories of the dependencies
  setup [run|test]     install what is missing on this machine
  css                  target/site/pkg/headgate.css
  front [--release]    css, wasm and public files: target/site
  services [-- CMD]    a throw-away Postgres while CMD runs with DATABASE_URL (default: a shell)
  fmt                  format all code";

fn main() -> ExitCode {
    progress::start();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<ExitCode> {
    let (step, rest) =
        arguments.split_first().map_or(("help", arguments), |(step, rest)| (step.as_str(), rest));
    let rest: Vec<&str> = rest.iter().map(String::as_str).filter(|argument| *argument != "--").collect();
    match (step, rest.as_slice()) {
        ("run", arguments) => run::run(arguments)?,
        ("dev", arguments) => dev::run(arguments)?,
        ("test", []) => return test::run(),
        ("check", []) => check::run()?,
        ("build", []) => build::run()?,
        ("prepare", []) => prepare::write()?,
        ("prepare", ["--check"]) => prepare::check()?,
        ("audit", []) => audit::run()?,
        ("bench", arguments) => bench::run(arguments)?,
        ("setup", [] | ["run"]) => setup::run(setup::Purpose::Run)?,
        ("setup", ["test"]) => setup::run(setup::Purpose::Test)?,
        ("css", []) => css::build()?,
        ("front", []) => front::build(front::Mode::Dev)?,
        ("front", ["--release"]) => front::build(front::Mode::Release)?,
        ("services", command) => return services::with_command(command),
        ("fmt", []) => process::run(process::cargo().args(["fmt", "--all"]))?,
        ("help" | "--help" | "-h", _) => println!("{USAGE}"),
        _ => bail!("unknown step or arguments: {}\n\n{USAGE}", arguments.join(" ")),
    }
    Ok(ExitCode::SUCCESS)
}
