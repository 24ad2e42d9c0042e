//! Lints what a build compiles anyway: one pass of the compiler for both, where `cargo clippy` before `cargo test` makes two.
//!
//! Clippy's driver is a compiler with lints. Cargo runs it for the workspace's own crates, as `cargo clippy` does. Lints are warnings here,
//! so a finding stops no test; cargo repeats them for crates that are fresh.

use crate::process;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the builds of a run warned about.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Lints {
    warnings: usize,
}

impl Lints {
    /// Runs a build with the lints, and counts its warnings.
    pub(crate) fn run(&mut self, build: &mut Command) -> Result<()> {
        process::run_watched(with_lints(build)?, |line| self.read(line))
    }

    /// A warning starts with `warning: `, and so does cargo's sum of a crate's: `warning: `queue` (lib) generated 2 warnings`.
    fn read(&mut self, line: &str) {
        if line.starts_with("warning: ") && !line.contains(" generated ") {
            self.warnings += 1;
        }
    }

    /// Adds what another thread's builds warned about.
    pub(crate) fn add(&mut self, other: &Self) {
        self.warnings += other.warnings;
    }

    pub(crate) fn verdict(&self) -> Result<()> {
        match self.warnings {
            0 => Ok(()),
            n => bail!("{n} warnings, above in the builds' output"),
        }
    }
}

/// Commands that shall use the same build need this too: cargo keeps builds of different compilers apart.
pub(crate) fn with_lints(build: &mut Command) -> Result<&mut Command> {
    Ok(build.env("RUSTC_WORKSPACE_WRAPPER", driver()?))
}

fn driver() -> Result<PathBuf> {
    let sysroot = process::output_of("rustc", &["--print", "sysroot"]).context("no `rustc`")?;
    let beside_rustc = Some(Path::new(&sysroot).join("bin/clippy-driver")).filter(|path| path.is_file());
    beside_rustc.or_else(|| process::find("clippy-driver")).context("no `clippy-driver`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_counted_and_sums_are_not() {
        let mut lints = Lints::default();
        lints.verdict().unwrap();
        for line in [
            "   Compiling queue v0.1.0",
            "warning: called `unwrap` on a value",
            "  --> crates/queue/src/lib.rs:1:1",
            "warning: `queue` (lib) generated 1 warning",
        ] {
            lints.read(line);
        }
        lints.add(&Lints { warnings: 2 });
        assert_eq!(lints.verdict().unwrap_err().to_string(), "3 warnings, above in the builds' output");
    }
}
