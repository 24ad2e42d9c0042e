//! Static checks.

use crate::{css, dependencies, front, process, progress};
use anyhow::Result;

/// `make check`: the fast checks that an editor does not make.
pub(crate) fn run() -> Result<()> {
    progress::step("format", format)?;
    css::check()?;
    dependencies::check()?;
    progress::step("clippy", clippy)?;
    progress::step("clippy (wasm)", clippy_wasm)
}

pub(crate) fn format() -> Result<()> {
    process::run(process::cargo().args(["fmt", "--all", "--check"]))
}

/// The whole workspace: `server` enables the feature `ssr` of `app`, so this checks the console's server half.
pub(crate) fn clippy() -> Result<()> {
    process::run(process::cargo().args([
        "clippy",
        "--locked",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))
}

/// The browser half of the console, separately because the features `ssr` and `hydrate` exclude each other.
pub(crate) fn clippy_wasm() -> Result<()> {
    process::run(front::cargo("clippy", front::Mode::Dev).args(["--", "-D", "warnings"]))
}
