//! Debian packages, by apt.

use crate::{process, progress};
use anyhow::{Context, Result, bail};
use std::process::Command;

/// A package to install.
pub(super) struct Package {
    pub(super) name: &'static str,
    pub(super) why: &'static str,
}

/// Installs the packages, or says exactly what to type where that is not ours to do.
pub(super) fn install(packages: &[Package]) -> Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = packages.iter().map(|package| package.name).collect();
    let by_hand = format!("apt-get install --no-install-recommends {}", names.join(" "));
    for package in packages {
        progress::note(&format!("missing: {} for {}", package.name, package.why));
    }
    if process::find("apt-get").is_none() {
        bail!("no apt-get here: install {} with this system's package manager", names.join(" and "));
    }
    let Some(prefix) = privilege() else { bail!("not root: run `sudo {by_hand}`") };
    let apt = |arguments: &[&str]| {
        let mut words = prefix.iter().chain(["apt-get", "-q", "-y"].iter());
        let mut command = Command::new(words.next().unwrap_or(&"apt-get"));
        command.args(words).args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        process::run_quietly(&mut command)
    };
    progress::note(&by_hand);
    // An outdated or partly unreachable index may still know the packages.
    if let Err(error) = apt(&["update"]) {
        progress::note(&format!("{error:#}"));
    }
    let install: Vec<&str> = ["install", "--no-install-recommends"].into_iter().chain(names).collect();
    apt(&install).with_context(|| format!("run `{by_hand}` by hand"))
}

/// What to put before a command that root must run; nothing when there is no way without asking for a password.
fn privilege() -> Option<&'static [&'static str]> {
    if process::output_of("id", &["-u"])? == "0" {
        return Some(&[]);
    }
    process::output_of("sudo", &["-n", "true"]).map(|_| ["sudo", "-n"].as_slice())
}
