//! Installs Node for the browser tests, and their npm packages.

use super::debian::{self, Package};
use crate::{process, progress, workspace};
use anyhow::{Context, Result, bail};
use std::{fs, process::Command};

/// The oldest version Playwright runs on.
const MIN_VERSION: u32 = 20;

/// Installs Node if Debian's is new enough, then runs `npm ci` if the lock file is newer than what is installed.
pub(super) fn ensure() -> Result<()> {
    if !is_new_enough() {
        let candidate = process::output_of("apt-cache", &["show", "--no-all-versions", "nodejs"])
            .and_then(|package| major_of_package(&package))
            .unwrap_or_default();
        if candidate < MIN_VERSION {
            bail!(
                "the browser tests need Node {MIN_VERSION} or newer with npm: install it (Debian 13: `apt-get install nodejs npm`)"
            );
        }
        debian::install(&[
            Package { names: &["nodejs"], why: "the browser tests" },
            Package { names: &["npm"], why: "the browser tests" },
        ])?;
    }
    let folder = workspace::root().join("end2end");
    let installed =
        fs::metadata(folder.join("node_modules/.package-lock.json")).and_then(|file| file.modified());
    let wanted = fs::metadata(folder.join("package-lock.json")).and_then(|file| file.modified());
    let wanted = wanted.context("end2end/package-lock.json")?;
    if installed.is_ok_and(|installed| installed >= wanted) {
        return Ok(());
    }
    progress::note("npm ci in end2end");
    process::run_quietly(
        Command::new("npm")
            .args(["ci", "--no-audit", "--no-fund"])
            .current_dir(folder)
            // The browser comes from Debian.
            .env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1"),
    )
}

fn is_new_enough() -> bool {
    process::find("npm").is_some()
        && process::output_of("node", &["--version"])
            .and_then(|version| version.trim_start_matches('v').split('.').next()?.parse::<u32>().ok())
            .is_some_and(|major| major >= MIN_VERSION)
}

/// `Version: 20.19.2+dfsg-1` → 20
fn major_of_package(description: &str) -> Option<u32> {
    let version = description.lines().find_map(|line| line.strip_prefix("Version: "))?;
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::major_of_package;

    #[test]
    fn the_major_version_of_a_package_is_read_from_its_description() {
        assert_eq!(major_of_package("Package: nodejs\nVersion: 18.20.4+dfsg-1~deb12u1\n"), Some(18));
        assert_eq!(major_of_package("Package: nodejs\n"), None);
    }
}
