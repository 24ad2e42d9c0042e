//! Installs what is missing on this machine, and reports it.

mod debian;
mod node;
mod python;
mod rust;

use crate::{process, progress, services};
use anyhow::{Result, bail};
use debian::Package;
pub(crate) use python::schemathesis;
use std::path::PathBuf;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Purpose {
    /// Building and running the program.
    Run,
    /// Also what only tests need.
    Test,
}

/// Installs everything that is missing; the error names everything that could not be installed, with its remedy.
pub(crate) fn run(purpose: Purpose) -> Result<()> {
    progress::step("setup", || {
        let mut faults = Vec::new();
        let mut keep = |result: Result<()>| {
            if let Err(error) = result {
                faults.push(format!("{error:#}"));
            }
        };
        keep(rust::ensure(purpose));
        keep(debian::install(&missing_packages(purpose)));
        if purpose == Purpose::Test {
            keep(node::ensure());
            keep(python::ensure());
        }
        if !faults.is_empty() {
            bail!("not everything could be installed:\n  {}", faults.join("\n  "));
        }
        Ok(())
    })
}

/// The browser for the tests, under any of its names. The headless one is preferred: it saves a sixth of the time.
pub(crate) fn chromium() -> Option<PathBuf> {
    ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
        .into_iter()
        .find_map(process::find)
}

fn missing_packages(purpose: Purpose) -> Vec<Package> {
    let mut packages = Vec::new();
    let has_external_database = ["HEADGATE_DATABASE_URL", "DATABASE_URL"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|v| !v.is_empty()));
    if services::find_binaries().is_none() && (purpose == Purpose::Test || !has_external_database) {
        packages.push(Package { names: &["postgresql"], why: "the embedded database (15 or newer)" });
    }
    if purpose == Purpose::Test && chromium().is_none() {
        packages.push(Package { names: &["chromium-headless-shell", "chromium"], why: "the browser tests" });
    }
    packages
}
