//! Directories of the cluster, which nobody else may enter.

use super::{EmbeddedError, run_as::DatabaseUser};
use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, chown};
use std::path::Path;

/// Creates a directory that only its owner can enter.
pub(super) fn create_folder(folder: &Path, user: Option<&DatabaseUser>) -> Result<(), EmbeddedError> {
    let at = |error| EmbeddedError::io(folder, error);
    if !folder.is_dir() {
        fs::DirBuilder::new().mode(0o700).create(folder).map_err(at)?;
    }
    let owner = fs::metadata(folder).map_err(at)?.uid();
    match user {
        Some(user) if owner != user.uid => chown(folder, Some(user.uid), Some(user.gid)).map_err(at),
        None if owner != nix::unistd::Uid::effective().as_raw() => {
            Err(EmbeddedError::ForeignOwner { path: folder.to_path_buf(), owner })
        }
        _ => Ok(()),
    }
}
