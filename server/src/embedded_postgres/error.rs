//! Errors of the embedded database, each in one line that says what to do.

use std::io;
use std::path::{Path, PathBuf};

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
    #[error(
        "the database in {path} was created by PostgreSQL {made_by}{}: install PostgreSQL {made_by} \
         (Debian: `apt-get install postgresql-{made_by}`) or choose another HEADGATE_DATA_DIR",
        found_versions(found)
    )]
    VersionDiffers {
        path: PathBuf,
        /// The major version that created the cluster.
        made_by: u32,
        /// The major versions that are installed.
        found: Vec<u32>,
    },
    #[error("{path} is not writable for this user: choose another HEADGATE_DATA_DIR or change its owner")]
    NotWritable { path: PathBuf },
    #[error("{path} is on a read-only disk: choose another HEADGATE_DATA_DIR")]
    ReadOnly { path: PathBuf },
    #[error("{path} is not a directory: choose another HEADGATE_DATA_DIR")]
    NotADirectory { path: PathBuf },
    /// Any other fault of the file system, such as a full disk.
    #[error("{path}: {source}: fix that, or choose another HEADGATE_DATA_DIR")]
    Io { path: PathBuf, source: io::Error },
    /// Started as root, and the database's user cannot enter a directory on the path to the data directory.
    #[error(
        "the database runs as user {user}, who cannot enter {path}: choose another HEADGATE_DATA_DIR, such as /var/lib/headgate"
    )]
    Unreachable { path: PathBuf, user: String },
    /// Started as root, and there is no unprivileged user to switch to.
    #[error(
        "the database does not run as root, and there is neither a user postgres nor nobody: create one, or start Headgate as another user"
    )]
    NoUnprivilegedUser,
    #[error(
        "the database in {path} belongs to another user (uid {owner}): start Headgate as that user or choose another HEADGATE_DATA_DIR"
    )]
    ForeignOwner { path: PathBuf, owner: u32 },
    /// Another process runs this cluster.
    #[error("another headgate{} already runs the database in {path}: stop it, or choose another HEADGATE_DATA_DIR", with_pid(*pid))]
    Owned {
        path: PathBuf,
        /// That process, if its id is known.
        pid: Option<u32>,
    },
    /// Processes of an earlier run do not end.
    #[error("a database process of an earlier run{} does not end: end it by hand, then start again", with_pid(*pid))]
    OrphanStuck {
        /// The process, if it is the server.
        pid: Option<u32>,
    },
    /// The short socket directory is needed and belongs to somebody else.
    #[error(
        "the path of the data directory is too long for a socket, and the alternative {path} belongs to somebody else: remove it or choose a \
         shorter HEADGATE_DATA_DIR"
    )]
    SocketDirTaken { path: PathBuf },
    #[error("creating the database failed: {reason}")]
    Initdb { reason: String },
    /// Postgres ended while it started.
    #[error("the database did not start: {reason} (more in {log})")]
    Start { reason: String, log: PathBuf },
    #[error("the database (process {pid}) did not stop")]
    NotStopped { pid: u32 },
    #[error("the embedded database refuses connections: {0}")]
    Connect(#[source] sqlx::Error),
    /// The process is stopping.
    #[error("the start of the database was interrupted")]
    Interrupted,
}

impl EmbeddedError {
    /// The error for a failed access to `path`.
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
    fn every_error_is_one_line() {
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
    fn faults_of_the_file_system_are_distinguished() {
        let meaning = |kind| EmbeddedError::io(Path::new("/data"), io::Error::from(kind)).to_string();
        assert!(meaning(io::ErrorKind::PermissionDenied).contains("not writable"));
        assert!(meaning(io::ErrorKind::ReadOnlyFilesystem).contains("read-only disk"));
        assert!(meaning(io::ErrorKind::NotADirectory).contains("not a directory"));
        let full = meaning(io::ErrorKind::StorageFull);
        assert!(full.starts_with("/data: ") && full.contains("HEADGATE_DATA_DIR"), "{full}");
    }
}
