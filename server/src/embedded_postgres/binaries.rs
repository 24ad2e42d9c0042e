//! Finds the PostgreSQL servers of this machine.

use super::EmbeddedError;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The oldest major version Headgate supports.
const MIN_VERSION: u32 = 15;

/// A folder with `postgres` and `initdb`, and their major version.
#[derive(Clone, Debug)]
pub(super) struct Binaries {
    pub(super) folder: PathBuf,
    pub(super) version: u32,
}

/// The version that created the cluster in `data`, or the newest one for a new cluster.
pub(super) fn find(data: &Path) -> Result<Binaries, EmbeddedError> {
    choose(installed(), data, version_of_cluster(data))
}

fn choose(
    mut installed: BTreeMap<u32, PathBuf>,
    data: &Path,
    made_by: Option<u32>,
) -> Result<Binaries, EmbeddedError> {
    let found: Vec<u32> = installed.keys().copied().collect();
    if let Some(made_by) = made_by {
        let folder = installed.remove(&made_by);
        return folder
            .map(|folder| Binaries { folder, version: made_by })
            .ok_or_else(|| EmbeddedError::VersionDiffers { path: data.to_path_buf(), made_by, found });
    }
    match installed.pop_last() {
        Some((version, folder)) if version >= MIN_VERSION => Ok(Binaries { folder, version }),
        _ => Err(EmbeddedError::NoBinaries { found }),
    }
}

/// `PG_VERSION` of an existing cluster.
fn version_of_cluster(data: &Path) -> Option<u32> {
    fs::read_to_string(data.join("PG_VERSION")).ok()?.trim().parse().ok()
}

/// Major version → folder. `PATH` first, because a folder there is meant to be used.
fn installed() -> BTreeMap<u32, PathBuf> {
    let mut folders: Vec<PathBuf> = std::env::var_os("PATH").iter().flat_map(std::env::split_paths).collect();
    folders.extend(output(Command::new("pg_config").arg("--bindir")).map(PathBuf::from));
    // Debian; Homebrew on both kinds of Mac; Red Hat.
    for (parent, prefix) in [
        ("/usr/lib/postgresql", ""),
        ("/opt/homebrew/opt", "postgresql"),
        ("/usr/local/opt", "postgresql"),
        ("/usr", "pgsql-"),
    ] {
        let versions = fs::read_dir(parent).into_iter().flatten().flatten();
        folders.extend(
            versions
                .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
                .map(|entry| entry.path().join("bin")),
        );
    }
    let mut installed = BTreeMap::new();
    for folder in folders {
        if folder.join("postgres").is_file()
            && folder.join("initdb").is_file()
            && let Some(version) =
                output(Command::new(folder.join("postgres")).arg("--version")).as_deref().and_then(major)
        {
            installed.entry(version).or_insert(folder);
        }
    }
    installed
}

fn output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// `postgres (PostgreSQL) 15.14 (Debian …)` → 15; `18beta1` → 18
fn major(answer: &str) -> Option<u32> {
    answer.split_whitespace().nth(2)?.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_read_from_every_form() {
        assert_eq!(major("postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)"), Some(15));
        assert_eq!(major("postgres (PostgreSQL) 18beta1"), Some(18));
        assert_eq!(major("something else"), None);
    }

    #[test]
    fn a_new_cluster_uses_the_newest_version_and_an_old_one_its_own() {
        let installed = || BTreeMap::from([(15, PathBuf::from("/15")), (17, PathBuf::from("/17"))]);
        let data = Path::new("/data");
        assert_eq!(choose(installed(), data, None).unwrap().folder, Path::new("/17"));
        assert_eq!(choose(installed(), data, Some(15)).unwrap().folder, Path::new("/15"));
        let error = choose(installed(), data, Some(16)).unwrap_err().to_string();
        assert!(
            error.starts_with("the database in /data was created by PostgreSQL 16 (here: 15, 17)"),
            "{error}"
        );
    }

    #[test]
    fn a_version_that_is_too_old_is_named() {
        let old = BTreeMap::from([(13, PathBuf::from("/13"))]);
        let error = choose(old, Path::new("/data"), None).unwrap_err().to_string();
        assert!(
            error.starts_with("no PostgreSQL server, 15 or newer, on this machine (here: 13)"),
            "{error}"
        );
    }
}
