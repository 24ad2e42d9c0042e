//! Installs the wasm target, and for tests rustfmt and clippy.

use super::Purpose;
use crate::{process, progress};
use anyhow::{Context, Result, bail};
use std::{path::Path, process::Command};

const TARGET: &str = "wasm32-unknown-unknown";

/// Checks the toolchain itself, because there may be no `rustup` where Rust comes from the distribution.
pub(super) fn ensure(purpose: Purpose) -> Result<()> {
    let sysroot = process::output_of("rustc", &["--print", "sysroot"]).context("no `rustc`: install Rust")?;
    if !Path::new(&sysroot).join("lib/rustlib").join(TARGET).is_dir() {
        rustup(&["target", "add", TARGET])?;
    }
    if purpose == Purpose::Test {
        for (component, program) in [("rustfmt", "cargo-fmt"), ("clippy", "cargo-clippy")] {
            let is_there = Path::new(&sysroot).join("bin").join(program).is_file() || works(component);
            if !is_there {
                rustup(&["component", "add", component])?;
            }
        }
    }
    Ok(())
}

fn works(component: &str) -> bool {
    let subcommand = if component == "rustfmt" { "fmt" } else { component };
    process::output_of("cargo", &[subcommand, "--version"]).is_some()
}

fn rustup(arguments: &[&str]) -> Result<()> {
    let wanted = arguments.join(" ");
    if process::find("rustup").is_none() {
        bail!(
            "Rust lacks {} and there is no rustup to add it: install it with the tool this Rust came from \
             (rustup: `rustup {wanted}`; Debian: `apt-get install libstd-rust-dev-wasm32`)",
            arguments[2]
        );
    }
    progress::note(&format!("rustup {wanted}"));
    process::run_quietly(Command::new("rustup").args(arguments)).with_context(|| {
        format!("`rustup {wanted}` failed (it needs the network); run it once where there is one")
    })
}
