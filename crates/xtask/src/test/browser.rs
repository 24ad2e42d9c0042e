//! The browser tests: Playwright starts the built program itself and drives Debian's Chromium.

use super::counts::Counts;
use crate::{process, services::Services, setup, workspace};
use anyhow::{Context, Result};
use std::process::Command;

/// Playwright runs TypeScript without checking its types.
pub(super) fn check_types() -> Result<()> {
    process::run(
        Command::new("npx")
            .args(["--no-install", "tsc", "-p", "."])
            .current_dir(workspace::root().join("end2end")),
    )
}

pub(super) fn run(services: &Services) -> Result<(Counts, Result<()>)> {
    let chromium = setup::chromium().context("no Chromium")?;
    let mut counts = Counts::default();
    let result = process::run_watched(
        Command::new("npx")
            .args(["--no-install", "playwright", "test"])
            .current_dir(workspace::root().join("end2end"))
            .env("HEADGATE_BIN", workspace::debug_program())
            .env("HEADGATE_TEST_DATABASE_URL", services.url("postgres"))
            .env("HEADGATE_TEST_CHROMIUM", chromium)
            .env("HEADGATE_TEST_SCHEMATHESIS", setup::schemathesis())
            .env("FORCE_COLOR", "0"),
        |line| counts.read_playwright(line),
    );
    Ok((counts, result))
}
