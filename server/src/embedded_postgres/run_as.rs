//! The user the database runs as, because Postgres refuses to run as root.

use super::EmbeddedError;
use nix::unistd::{Uid, User};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The unprivileged user that root switches to for the database.
#[derive(Clone, Debug)]
pub(super) struct DatabaseUser {
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) name: String,
}

pub(super) fn is_root() -> bool {
    Uid::effective().is_root()
}

/// `None` when this process is not root. An existing cluster is run by its owner, so that root may start what a user has created.
pub(super) fn database_user(data_dir: &Path) -> Result<Option<DatabaseUser>, EmbeddedError> {
    if !is_root() {
        return Ok(None);
    }
    let owner =
        fs::metadata(data_dir.join("postgres")).ok().map(|metadata| metadata.uid()).filter(|uid| *uid != 0);
    let of_owner = owner.and_then(|uid| User::from_uid(uid.into()).ok().flatten());
    let user = of_owner
        .or_else(|| ["postgres", "nobody"].into_iter().find_map(|name| User::from_name(name).ok().flatten()));
    let user = user.ok_or(EmbeddedError::NoUnprivilegedUser)?;
    Ok(Some(DatabaseUser { uid: user.uid.as_raw(), gid: user.gid.as_raw(), name: user.name }))
}

impl DatabaseUser {
    /// The first directory of `path`, itself included, that this user may not enter.
    pub(super) fn first_closed(&self, path: &Path) -> Option<PathBuf> {
        let mut folders: Vec<&Path> = path.ancestors().filter(|folder| folder.exists()).collect();
        folders.reverse();
        folders.into_iter().find(|folder| !self.may_enter(folder)).map(Path::to_path_buf)
    }

    fn may_enter(&self, folder: &Path) -> bool {
        fs::metadata(folder).is_ok_and(|metadata| {
            let needed = if metadata.uid() == self.uid {
                0o100
            } else if metadata.gid() == self.gid {
                0o010
            } else {
                0o001
            };
            metadata.mode() & needed != 0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_first_closed_directory_of_a_path_is_found() {
        let root = std::env::temp_dir().join(format!("headgate-closed-{}", std::process::id()));
        let inner = root.join("inner");
        fs::create_dir_all(&inner).unwrap();
        fs::set_permissions(&root, fs::Permissions::from_mode(0o700)).unwrap();
        let stranger = DatabaseUser { uid: 4_000_001, gid: 4_000_001, name: "stranger".into() };
        assert_eq!(stranger.first_closed(&inner), Some(root.clone()));
        fs::set_permissions(&root, fs::Permissions::from_mode(0o711)).unwrap();
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o711)).unwrap();
        assert_eq!(stranger.first_closed(&inner), None);
        fs::remove_dir_all(&root).unwrap();
    }
}
