//! Everything that looks at the code without running it.

use crate::{css, process, progress, workspace};
use anyhow::Result;

/// `make check`: what an editor cannot tell, in seconds.
pub(crate) fn run() -> Result<()> {
    progress::step("format", format)?;
    css::check()?;
    progress::step("clippy", clippy)?;
    progress::step("clippy (wasm)", clippy_wasm)
}

pub(crate) fn format() -> Result<()> {
    process::run(process::cargo().args(["fmt", "--all", "--check"]))
}

/// The whole workspace: `server` asks for the console's `ssr` half, so that is what is seen of `app` here.
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

/// The browser's half of the console. Never both features at once: they exclude each other.
pub(crate) fn clippy_wasm() -> Result<()> {
    process::run(
        process::cargo()
            .args(["clippy", "--locked", "-p", "app", "--lib", "--target", "wasm32-unknown-unknown"])
            .args(["--no-default-features", "--features", "hydrate", "--profile", "wasm-dev", "--target-dir"])
            .arg(workspace::front_target_dir())
            .args(["--", "-D", "warnings"]),
    )
}

pub(crate) fn docs() -> Result<()> {
    process::run(
        process::cargo()
            .args(["doc", "--locked", "--workspace", "--no-deps", "--features", "queue/testing"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )
}
