//! `make build`: the release binary, with the console inside.

use crate::{front, process, progress, setup, workspace};
use anyhow::Result;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

const RELEASE: [&str; 4] = ["--locked", "--release", "-p", "server"];

pub(crate) fn run() -> Result<()> {
    setup::run(setup::Purpose::Run)?;
    // Only the program itself, which is small, needs the console's files: the libraries are built meanwhile.
    front::build_during(front::Mode::Release, || {
        progress::step("libraries (release)", || {
            process::run(process::cargo().arg("build").args(RELEASE).arg("--lib"))
        })
    })?;
    progress::step("headgate (release)", || {
        process::run(process::cargo().arg("build").args(RELEASE).env("HEADGATE_SITE", site_version()?))
    })?;
    let program = workspace::target_dir().join("release/headgate");
    let bytes = std::fs::metadata(&program)?.len();
    progress::note(&format!("{} ({:.1} MB)", program.display(), bytes as f64 / 1e6));
    Ok(())
}

/// Changes with any file of the site.
fn site_version() -> Result<String> {
    let mut hasher = DefaultHasher::new();
    for file in workspace::files_below(&workspace::site_dir())? {
        let metadata = std::fs::metadata(&file)?;
        (file, metadata.len(), metadata.modified()?).hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_has_no_test_kit() {
        // One line for each package that cargo would build, with its features.
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
