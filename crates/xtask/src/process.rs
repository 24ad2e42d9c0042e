//! Runs other programs.

use crate::workspace;
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

/// Cargo, in the workspace's root, with compile-time checked SQL read from `.sqlx`.
///
/// The variables that `cargo run` has set for xtask are removed: build scripts that watch `CARGO_PKG_NAME` (ring)
/// would otherwise run again, and with them half the tree.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let is_about_xtask = name.to_str().is_some_and(|name| {
            ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"]
                .iter()
                .any(|p| name.starts_with(p))
        });
        if is_about_xtask {
            command.env_remove(&name);
        }
    }
    command.current_dir(workspace::root()).env("SQLX_OFFLINE", "true").env_remove("DATABASE_URL");
    command
}

/// Runs to the end with our own standard input and output.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", describe(command)))?;
    expect_success(command, status)
}

/// Runs to the end and shows the output only when it failed.
pub(crate) fn run_quietly(command: &mut Command) -> Result<()> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {}", describe(command)))?;
    if !output.status.success() {
        eprint!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    }
    expect_success(command, output.status)
}

/// Runs to the end, passes standard output and standard error on line by line in their order,
/// and calls `watch` with each line without colours.
pub(crate) fn run_watched(command: &mut Command, mut watch: impl FnMut(&str)) -> Result<()> {
    let (reader, writer) = std::io::pipe().context("cannot make a pipe")?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .spawn()
        .with_context(|| format!("cannot start {}", describe(command)))?;
    // The command keeps copies of the pipe's writing end, and the reader sees no end while they are open.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    for line in BufReader::new(reader).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        watch(&without_colours(&line));
    }
    let status = child.wait()?;
    expect_success(command, status)
}

/// Runs to the end, passes standard error on, and calls `take` with each line of standard output.
pub(crate) fn run_captured(command: &mut Command, mut take: impl FnMut(&str)) -> Result<()> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", describe(command)))?;
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            take(&line?);
        }
    }
    let status = child.wait()?;
    expect_success(command, status)
}

/// The standard output of a program; none when it could not be started or failed.
pub(crate) fn output_of(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The first program of that name in `PATH` or in the system's directories.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
}

fn expect_success(command: &Command, status: ExitStatus) -> Result<()> {
    if !status.success() {
        bail!("{} ended with {status}", describe(command));
    }
    Ok(())
}

fn describe(command: &Command) -> String {
    let name = PathBuf::from(command.get_program());
    let name = name.file_name().unwrap_or(command.get_program()).to_string_lossy().into_owned();
    let arguments = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
    format!("`{}`", std::iter::once(name).chain(arguments).collect::<Vec<_>>().join(" "))
}

/// Removes terminal colour sequences (`ESC [ … m`) from a line.
fn without_colours(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, sequence)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = sequence.find(|c: char| c.is_ascii_alphabetic()).map_or("", |end| &sequence[end + 1..]);
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_removed_from_a_line() {
        assert_eq!(without_colours("\u{1b}[32m  3 passed\u{1b}[39m (1.2s)"), "  3 passed (1.2s)");
        assert_eq!(without_colours("plain"), "plain");
    }

    #[test]
    fn both_streams_of_a_watched_program_arrive_in_order() {
        let mut lines = Vec::new();
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo two >&2; echo three"]);
        run_watched(&mut command, |line| lines.push(line.to_owned())).unwrap();
        assert_eq!(lines, ["one", "two", "three"]);
    }

    #[test]
    fn a_failed_program_is_named_with_its_arguments() {
        let error = run_quietly(Command::new("sh").args(["-c", "exit 3"])).unwrap_err();
        assert!(error.to_string().starts_with("`sh -c exit 3` ended with"), "{error}");
    }
}
