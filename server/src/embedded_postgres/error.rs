//! What can go wrong, each in one line that says what to do.

use std::{
    io,
    path::{Path, PathBuf},
};

/// Why there is no embedded database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbeddedError {
    /// No server binaries, or only old ones.
    #[error(
        "no PostgreSQL server, 15 or newer, on this machine{}: install it (Debian: `apt-get install postgresql`, \
         macOS: `brew install postgresql@17`) or set HEADGATE_DATABASE_URL",
        found_versions(found)
    )]
    NoBinaries {
        /// Major versions that were found and are too old.
        found: Vec<u32>,
    },
    /// The cluster was made by another major version.
    #[error(
        "the database in {path} was made by PostgreSQL {made_by}{}: install PostgreSQL {made_by} \
         (Debian: `apt-get install postgresql-{made_by}`) or choose another HEADGATE_DATA_DIR",
        found_versions(found)
    )]
    VersionDiffers {
        /// Where the cluster lies.
        path: PathBuf,
        /// The major version that made it.
        made_by: u32,
        /// Those that are installed.
        found: Vec<u32>,
    },
    /// Permission was denied.
    #[error("{path} is not writable for this user: choose another HEADGATE_DATA_DIR or change its owner")]
    NotWritable {
        /// What could not be written.
        path: PathBuf,
    },
    /// The file system takes no writes.
    #[error("{path} is on a read-only disk: choose another HEADGATE_DATA_DIR")]
    ReadOnly {
        /// What could not be written.
        path: PathBuf,
    },
    /// There is a file where a directory should be.
    #[error("{path} is not a directory: choose another HEADGATE_DATA_DIR")]
    NotADirectory {
        /// The file.
        path: PathBuf,
    },
    /// Any other fault of the file system, a full disk among them.
    #[error("{path}: {source}: mend that, or choose another HEADGATE_DATA_DIR")]
    Io {
        /// What was touched.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Started as root, and the database's user cannot walk to the data directory.
    #[error(
        "the database runs as user {user}, who cannot enter {path}: choose another HEADGATE_DATA_DIR, such as /var/lib/headgate"
    )]
    Unreachable {
        /// The directory that is closed.
        path: PathBuf,
        /// Whom root becomes.
        user: String,
    },
    /// Started as root, and there is nobody to become.
    #[error(
        "the database does not run as root, and there is neither a user postgres nor nobody: create one, or start Headgate as another user"
    )]
    NoUnprivilegedUser,
    /// The files belong to somebody else.
    #[error(
        "the database in {path} belongs to another user (uid {owner}): start Headgate as that user or choose another HEADGATE_DATA_DIR"
    )]
    ForeignOwner {
        /// Where the cluster lies.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// Another process runs this cluster.
    #[error("another headgate{} already runs the database in {path}: stop it, or choose another HEADGATE_DATA_DIR", with_pid(*pid))]
    Owned {
        /// The data directory.
        path: PathBuf,
        /// Who, if it said so.
        pid: Option<u32>,
    },
    /// What an earlier run left behind does not end.
    #[error("a database process of an earlier run{} does not end: end it by hand, then start again", with_pid(*pid))]
    OrphanStuck {
        /// Which, if it is one.
        pid: Option<u32>,
    },
    /// The data directory's path is too long for a socket, and the short one instead is in use.
    #[error(
        "the path of the data directory is too long for a socket, and {path} instead is not ours: remove it or choose a shorter HEADGATE_DATA_DIR"
    )]
    SocketDirTaken {
        /// The short directory.
        path: PathBuf,
    },
    /// `initdb` failed.
    #[error("the database could not be made: {reason}")]
    Initdb {
        /// What it said.
        reason: String,
    },
    /// Postgres ended while it started.
    #[error("the database did not start: {reason} (more in {log})")]
    Start {
        /// What it said last.
        reason: String,
        /// Where it said more.
        log: PathBuf,
    },
    /// Postgres did not end.
    #[error("the database (process {pid}) did not stop")]
    NotStopped {
        /// Which.
        pid: u32,
    },
    /// It runs and does not let us in.
    #[error("the embedded database refuses connections: {0}")]
    Connect(#[source] sqlx::Error),
    /// The program is ending.
    #[error("the start of the database was interrupted")]
    Interrupted,
}

impl EmbeddedError {
    /// What a failed access to `path` means.
    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::PermissionDenied => Self::NotWritable { path },
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { path },
            io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => Self::NotADirectory { path },
            _ => Self::Io { path, source },
        }
    }
}

fn found_versions(found: &[u32]) -> String {
    if found.is_empty() {
        return String::new();
    }
    let versions: Vec<String> = found.iter().map(u32::to_string).collect();
    format!(" (here: {})", versions.join(", "))
}

fn with_pid(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_one_line() {
        let path = PathBuf::from("/data");
        for error in [
            EmbeddedError::NoBinaries { found: vec![13] },
            EmbeddedError::VersionDiffers { path: path.clone(), made_by: 14, found: vec![15, 17] },
            EmbeddedError::Owned { path, pid: Some(7) },
        ] {
            let text = error.to_string();
            assert!(!text.contains('\n') && !text.contains("  "), "{text}");
        }
    }

    #[test]
    fn faults_of_the_file_system_get_their_own_names() {
        let meaning = |kind| EmbeddedError::io(Path::new("/data"), io::Error::from(kind)).to_string();
        assert!(meaning(io::ErrorKind::PermissionDenied).contains("not writable"));
        assert!(meaning(io::ErrorKind::ReadOnlyFilesystem).contains("read-only disk"));
        assert!(meaning(io::ErrorKind::NotADirectory).contains("not a directory"));
        let full = meaning(io::ErrorKind::StorageFull);
        assert!(full.starts_with("/data: ") && full.contains("HEADGATE_DATA_DIR"), "{full}");
    }
}
