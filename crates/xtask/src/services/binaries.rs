//! Finds the newest PostgreSQL server on this machine.

use crate::process;
use std::path::{Path, PathBuf};

/// The oldest version Headgate runs on.
const MIN_VERSION: u32 = 15;

/// The folder with `postgres` and `initdb`, if one is new enough.
pub(crate) fn find() -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|version| version.path().join("bin"))
        .collect();
    folders.extend(process::output_of("pg_config", &["--bindir"]).map(PathBuf::from));
    folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    best(folders)
}

/// The newest version; of several folders one with all programs, because another may only have links to some of them.
fn best(folders: Vec<PathBuf>) -> Option<PathBuf> {
    folders
        .into_iter()
        .filter(|folder| folder.join("postgres").is_file() && folder.join("initdb").is_file())
        .filter_map(|folder| Some((version(&folder)?, folder)))
        .filter(|(version, _)| *version >= MIN_VERSION)
        .max_by_key(|(version, folder)| (*version, folder.join("pgbench").is_file()))
        .map(|(_, folder)| folder)
}

/// `postgres (PostgreSQL) 15.14 (Debian …)` → 15
fn version(folder: &Path) -> Option<u32> {
    let answer = process::output_of(folder.join("postgres").to_str()?, &["--version"])?;
    let number = answer.split_whitespace().nth(2)?;
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt as _};

    fn installed(root: &Path, name: &str, version: &str, programs: &[&str]) -> PathBuf {
        let folder = root.join(name);
        fs::create_dir_all(&folder).unwrap();
        for program in programs {
            let path = folder.join(program);
            fs::write(&path, format!("#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        folder
    }

    #[test]
    fn the_newest_is_found_and_of_two_the_one_with_pgbench() {
        let root = std::env::temp_dir().join(format!("headgate-binaries-{}", std::process::id()));
        let all = ["postgres", "initdb", "pgbench"];
        let whole = installed(&root, "whole", "15.14 (Debian)", &all);
        let links = installed(&root, "links", "15.14 (Debian)", &all[..2]);
        let newer = installed(&root, "newer", "17.2", &all[..2]);
        let old = installed(&root, "old", "14.9", &all);
        assert_eq!(best(vec![whole.clone(), links.clone()]), Some(whole.clone()));
        assert_eq!(best(vec![links, whole.clone()]), Some(whole));
        assert_eq!(best(vec![newer.clone(), old.clone()]), Some(newer));
        assert_eq!(best(vec![old]), None);
        fs::remove_dir_all(&root).unwrap();
    }
}
