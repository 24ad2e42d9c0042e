//! Installs Debian packages with apt.

use crate::{process, progress};
use anyhow::{Context, Result, bail};
use std::process::Command;

pub(super) struct Package {
    /// The first name that this system's release knows is installed.
    pub(super) names: &'static [&'static str],
    pub(super) why: &'static str,
}

/// Installs the packages, or fails with the command to run where that needs more rights.
pub(super) fn install(packages: &[Package]) -> Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    for package in packages {
        progress::note(&format!("missing: {} for {}", package.names.join(" or "), package.why));
    }
    if process::find("apt-get").is_none() {
        let names: Vec<String> = packages.iter().map(|package| package.names.join(" or ")).collect();
        bail!("no apt-get here: install {} with this system's package manager", names.join(" and "));
    }
    let names = || packages.iter().map(Package::known_name).collect::<Vec<_>>();
    let by_hand = |names: &[&str]| format!("apt-get install --no-install-recommends {}", names.join(" "));
    let Some(prefix) = privilege() else { bail!("not root: run `sudo {}`", by_hand(&names())) };
    let apt = |arguments: &[&str]| {
        let mut words = prefix.iter().chain(["apt-get", "-q", "-y"].iter());
        let mut command = Command::new(words.next().unwrap_or(&"apt-get"));
        command.args(words).args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        process::run_quietly(&mut command)
    };
    // An outdated or partly unreachable index may still know the packages.
    if let Err(error) = apt(&["update"]) {
        progress::note(&format!("{error:#}"));
    }
    let names = names();
    let by_hand = by_hand(&names);
    progress::note(&by_hand);
    let install: Vec<&str> = ["install", "--no-install-recommends"].into_iter().chain(names).collect();
    apt(&install).with_context(|| format!("run `{by_hand}` by hand"))
}

impl Package {
    /// The first name in apt's index; if none is, the last, about which apt will complain.
    fn known_name(&self) -> &'static str {
        let is_listed = |name: &&&str| {
            process::output_of("apt-cache", &["show", "--no-all-versions", **name])
                .is_some_and(|shown| !shown.is_empty())
        };
        self.names.iter().find(is_listed).or(self.names.last()).copied().unwrap_or_default()
    }
}

/// The prefix of a command that root must run; none when it would ask for a password.
fn privilege() -> Option<&'static [&'static str]> {
    if process::output_of("id", &["-u"])? == "0" {
        return Some(&[]);
    }
    process::output_of("sudo", &["-n", "true"]).map(|_| ["sudo", "-n"].as_slice())
}
