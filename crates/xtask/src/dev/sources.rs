//! The files that the program and its console are built from.

use crate::workspace;
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fs, thread};

/// What a build reads; the tools in `crates/xtask` and `crates/bench` have no part in the program.
const FOLDERS: [&str; 12] = [
    "app",
    "server",
    "crates/model",
    "crates/queue",
    "crates/insight",
    "crates/delivery",
    "crates/access",
    "crates/service",
    "migrations",
    "public",
    "style",
    ".sqlx",
];
const FILES: [&str; 2] = ["Cargo.toml", "Cargo.lock"];

/// Between two looks: some thousand files are a few milliseconds.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// When each file was last changed, by its path in the workspace.
#[derive(PartialEq)]
pub(super) struct Sources(BTreeMap<PathBuf, SystemTime>);

impl Sources {
    pub(super) fn scan() -> Result<Self> {
        let root = workspace::root();
        let mut files: Vec<PathBuf> = FILES.iter().map(|file| root.join(file)).collect();
        for folder in FOLDERS {
            files.extend(workspace::files_below(&root.join(folder))?);
        }
        let known = files.into_iter().filter_map(|file| {
            // None: the file was removed since it was listed, or it is an editor's dangling lock.
            let modified = fs::metadata(&file).and_then(|metadata| metadata.modified()).ok()?;
            Some((file.strip_prefix(&root).ok()?.to_path_buf(), modified))
        });
        Ok(Self(known.collect()))
    }

    /// Waits for a change, and until no more files change, which an editor or git may do one by one. Returns what is there then, and which files
    /// differ.
    pub(super) fn wait_for_change(&self) -> Result<(Self, Vec<PathBuf>)> {
        let mut last = Self::scan()?;
        loop {
            thread::sleep(POLL_INTERVAL);
            let now = Self::scan()?;
            let changed = now.changed_since(self);
            if now == last && !changed.is_empty() {
                return Ok((now, changed));
            }
            last = now;
        }
    }

    /// Files that were added, changed or removed. Editors' own files are none.
    fn changed_since(&self, before: &Self) -> Vec<PathBuf> {
        let removed = before.0.keys().filter(|file| !self.0.contains_key(*file));
        let changed =
            self.0.iter().filter(|(file, at)| before.0.get(*file) != Some(*at)).map(|(file, _)| file);
        changed.chain(removed).filter(|file| !is_of_editor(file)).cloned().collect()
    }
}

/// `.x.swp`, `#x#`, `x~`, and the `4913` that vim writes to try a folder out.
fn is_of_editor(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with(['.', '#']) || name.ends_with('~') || name == "4913"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(files: &[(&str, u64)]) -> Sources {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        Sources(files.iter().map(|(file, seconds)| (file.into(), at(*seconds))).collect())
    }

    #[test]
    fn added_changed_and_removed_files_are_changes() {
        let before = sources(&[("app/a.rs", 1), ("app/b.rs", 1), ("app/c.rs", 1)]);
        let now = sources(&[
            ("app/a.rs", 2),
            ("app/b.rs", 1),
            ("app/d.rs", 1),
            ("app/.a.rs.swp", 2),
            ("app/4913", 2),
        ]);
        let changed = now.changed_since(&before);
        assert_eq!(changed, ["app/a.rs", "app/d.rs", "app/c.rs"].map(PathBuf::from));
    }

    #[test]
    fn every_crate_of_the_program_is_watched() {
        let watched = Sources::scan().unwrap();
        for folder in FOLDERS {
            assert!(watched.0.keys().any(|file| file.starts_with(folder)), "{folder}");
        }
        let tree = ["tree", "--locked", "--offline", "-p", "server", "-e", "no-dev", "--prefix", "none"];
        let out = crate::process::cargo().args(tree).output().expect("cargo");
        let root = format!("({}/", workspace::root().canonicalize().expect("a root").display());
        for line in String::from_utf8(out.stdout).expect("text").lines() {
            if let Some((_, folder)) = line.split_once(&root) {
                let folder = folder.split(')').next().unwrap_or_default();
                assert!(FOLDERS.contains(&folder), "{folder}");
            }
        }
    }
}
