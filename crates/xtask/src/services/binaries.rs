//! Finds the newest PostgreSQL server on this machine.

use crate::process;
use std::path::{Path, PathBuf};

/// The oldest version Headgate runs on.
const OLDEST: u32 = 15;

/// The folder with `postgres` and `initdb`, if there is one that is new enough.
pub(crate) fn find() -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|version| version.path().join("bin"))
        .collect();
    folders.extend(process::output_of("pg_config", &["--bindir"]).map(PathBuf::from));
    folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    folders
        .into_iter()
        .filter(|folder| folder.join("postgres").is_file() && folder.join("initdb").is_file())
        .filter_map(|folder| Some((version(&folder)?, folder)))
        .filter(|(version, _)| *version >= OLDEST)
        .max_by_key(|(version, _)| *version)
        .map(|(_, folder)| folder)
}

/// `postgres (PostgreSQL) 15.14 (Debian …)` → 15
fn version(folder: &Path) -> Option<u32> {
    let answer = process::output_of(folder.join("postgres").to_str()?, &["--version"])?;
    let number = answer.split_whitespace().nth(2)?;
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}
