//! `make build`: the one binary to put on a server, with the console inside.

use crate::{front, process, progress, setup, workspace};
use anyhow::Result;

/// What is built.
const RELEASE: [&str; 4] = ["--locked", "--release", "-p", "server"];

pub(crate) fn run() -> Result<()> {
    setup::run(setup::Purpose::Run)?;
    front::build(front::Mode::Release)?;
    progress::step("headgate (release)", || process::run(process::cargo().arg("build").args(RELEASE)))?;
    let program = workspace::target_dir().join("release/headgate");
    let bytes = std::fs::metadata(&program)?.len();
    progress::note(&format!("{} ({:.1} MB)", program.display(), bytes as f64 / 1e6));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_has_no_test_kit() {
        // What cargo would build, and with which features: one line for each.
        let tree = [
            "tree",
            "--locked",
            "--offline",
            "-p",
            "server",
            "-e",
            "no-dev",
            "--prefix",
            "none",
            "-f",
            "{p} [{f}]",
        ];
        let out = process::cargo().args(tree).output().expect("cargo");
        let tree = String::from_utf8(out.stdout).expect("text");
        let queue: Vec<&str> = tree.lines().filter(|line| line.starts_with("queue ")).collect();
        assert!(!queue.is_empty(), "{tree}");
        assert!(queue.iter().all(|line| line.ends_with("[]") || line.ends_with("[] (*)")), "{queue:?}");
        assert!(!RELEASE.contains(&"--features"));
    }
}
