//! The directory of the database's socket.

use super::{EmbeddedError, cluster, run_as::DatabaseUser};
use sha2::{Digest, Sha256};
use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// The only port number there is: it names the socket's file, nothing listens on a network.
pub(super) const PORT: u16 = 5432;

/// What the shortest of our systems allows for a socket's whole path.
const LONGEST_PATH: usize = 103;

/// `run` beside the cluster, or a short directory in `/tmp` when that path is too long for a socket.
pub(super) fn folder(home: &Path, user: Option<&DatabaseUser>) -> Result<PathBuf, EmbeddedError> {
    let beside = home.join("run");
    if beside.join(file_name()).as_os_str().len() <= LONGEST_PATH {
        cluster::make_folder(&beside, user)?;
        return Ok(beside);
    }
    let short = PathBuf::from("/tmp").join(format!("headgate-{}", digest(home)));
    let is_new = fs::symlink_metadata(&short).is_err();
    if is_new {
        cluster::make_folder(&short, user)?;
    }
    // Anybody may make files in /tmp: only a directory that nobody else can touch will do.
    let expected = user.map_or_else(|| nix::unistd::Uid::effective().as_raw(), |user| user.uid);
    let is_ours = fs::symlink_metadata(&short).is_ok_and(|metadata| {
        metadata.is_dir() && metadata.uid() == expected && metadata.mode() & 0o077 == 0
    });
    if is_ours { Ok(short) } else { Err(EmbeddedError::SocketDirTaken { path: short }) }
}

/// Removes what a killed server left, once it is certain that none runs: a lock that names a process number
/// in use again would keep the next one from starting.
pub(super) fn remove_remains(folder: &Path) {
    let socket = folder.join(file_name());
    let _ = fs::remove_file(folder.join(format!("{}.lock", file_name())));
    let _ = fs::remove_file(socket);
}

/// A short name that is the same at each start.
pub(super) fn digest(home: &Path) -> String {
    let hash = Sha256::digest(home.as_os_str().as_encoded_bytes());
    hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

fn file_name() -> String {
    format!(".s.PGSQL.{PORT}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_name_depends_on_the_directory_alone() {
        assert_eq!(digest(Path::new("/a")), digest(Path::new("/a")));
        assert_ne!(digest(Path::new("/a")), digest(Path::new("/b")));
        assert_eq!(digest(Path::new("/a")).len(), 12);
    }
}
