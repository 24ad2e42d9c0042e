//! The directory of the database's socket.

use super::{EmbeddedError, private_folder::create_folder, run_as::DatabaseUser};
use sha2::{Digest, Sha256};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Only part of the name of the socket's file: nothing listens on a network.
pub(super) const PORT: u16 = 5432;

/// The limit of a socket's whole path on macOS; Linux allows four more.
const MAX_PATH_BYTES: usize = 103;

/// `run` in the data directory, or a short directory in `/tmp` when that path is too long for a socket.
pub(super) fn folder(home: &Path, user: Option<&DatabaseUser>) -> Result<PathBuf, EmbeddedError> {
    let in_home = home.join("run");
    if in_home.join(file_name()).as_os_str().len() <= MAX_PATH_BYTES {
        create_folder(&in_home, user)?;
        return Ok(in_home);
    }
    let short = PathBuf::from("/tmp").join(format!("headgate-{}", digest(home)));
    let is_new = fs::symlink_metadata(&short).is_err();
    if is_new {
        create_folder(&short, user)?;
    }
    // Anybody may create files in /tmp, so only a directory that nobody else can change will do.
    let expected = user.map_or_else(|| nix::unistd::Uid::effective().as_raw(), |user| user.uid);
    let is_ours = fs::symlink_metadata(&short).is_ok_and(|metadata| {
        metadata.is_dir() && metadata.uid() == expected && metadata.mode() & 0o077 == 0
    });
    if is_ours { Ok(short) } else { Err(EmbeddedError::SocketDirTaken { path: short }) }
}

/// Removes the files of a killed server, once it is certain that none runs: if its process id is in use again, the lock would keep the next
/// server from starting.
pub(super) fn remove_leftovers(folder: &Path) {
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
