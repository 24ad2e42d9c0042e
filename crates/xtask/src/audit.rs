//! `make audit`: checks licences, bans and sources of the dependencies, and advisories if their database can be reached.

use crate::{process, progress};
use anyhow::{Result, bail};

pub(crate) fn run() -> Result<()> {
    if process::find("cargo-deny").is_none() && process::output_of("cargo", &["deny", "--version"]).is_none()
    {
        bail!("cargo-deny is not installed: `cargo install --locked cargo-deny`, then `make audit` again");
    }
    progress::step("licences, bans, sources", || {
        process::run(process::cargo().args([
            "deny",
            "--offline",
            "--workspace",
            "check",
            "licenses",
            "bans",
            "sources",
        ]))
    })?;
    progress::step("advisories", || {
        if process::run_quietly(process::cargo().args(["deny", "fetch", "db"])).is_err() {
            progress::note("the advisory database cannot be reached: advisories were NOT checked");
            return Ok(());
        }
        process::run(process::cargo().args(["deny", "--offline", "--workspace", "check", "advisories"]))
    })
}
