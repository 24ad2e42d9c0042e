//! Installs schemathesis, which tests the program against its OpenAPI document, in an environment of its own.

use super::debian::{self, Package};
use crate::{process, progress, workspace};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

pub(crate) fn schemathesis() -> PathBuf {
    environment().join("bin/schemathesis")
}

fn environment() -> PathBuf {
    workspace::target_dir().join("python")
}

/// Installs what `end2end/requirements.txt` pins, unless that is installed already.
pub(super) fn ensure() -> Result<()> {
    let wanted = workspace::root().join("end2end/requirements.txt");
    let installed = environment().join("requirements.txt");
    if read(&installed)? == Some(fs::read(&wanted).with_context(|| wanted.display().to_string())?) {
        return Ok(());
    }
    if process::output_of("python3", &["-c", "import ensurepip, venv"]).is_none() {
        debian::install(&[Package {
            names: &["python3-venv"],
            why: "the tests of the API by its document",
        }])?;
    }
    progress::note("pip install of end2end/requirements.txt");
    process::run_quietly(Command::new("python3").args(["-m", "venv", "--clear"]).arg(environment()))?;
    process::run_quietly(
        Command::new(environment().join("bin/pip"))
            .args(["install", "--quiet", "--disable-pip-version-check", "--requirement"])
            .arg(&wanted),
    )?;
    fs::copy(&wanted, &installed)?;
    Ok(())
}

fn read(file: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(file) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| file.display().to_string()),
    }
}
