//! The directory of the cluster and the generated keys.

use super::{EmbeddedError, OwnerLock, run_as};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

const DEFAULT: &str = ".headgate";

/// Used by root when the database's user cannot enter the working directory (such as `/root`).
const DEFAULT_FOR_ROOT: &str = "/var/lib/headgate";

/// The absolute data directory: the configured one, else `./.headgate`, else (logged) one that root's database user can enter.
///
/// # Errors
/// When the working directory does not exist any more, or there is no user that root can run the database as.
pub fn choose_data_dir(configured: Option<&Path>) -> Result<PathBuf, EmbeddedError> {
    let wanted = configured.unwrap_or(Path::new(DEFAULT));
    let wanted = std::path::absolute(wanted).map_err(|error| EmbeddedError::io(wanted, error))?;
    if configured.is_some() {
        return Ok(wanted);
    }
    let Some(user) = run_as::database_user(&wanted)? else { return Ok(wanted) };
    let Some(closed) = user.first_closed(wanted.parent().unwrap_or(&wanted)) else { return Ok(wanted) };
    tracing::info!(
        "data directory: {DEFAULT_FOR_ROOT}, because the database's user {} cannot enter {}",
        user.name,
        closed.display()
    );
    Ok(DEFAULT_FOR_ROOT.into())
}

/// Creates the directory if necessary and locks it. The path returned has no symbolic links.
pub(super) fn open(data_dir: &Path) -> Result<(PathBuf, OwnerLock), EmbeddedError> {
    let at = |error| EmbeddedError::io(data_dir, error);
    let is_new = !data_dir.exists();
    fs::create_dir_all(data_dir).map_err(at)?;
    let data_dir = data_dir.canonicalize().map_err(at)?;
    let owner = OwnerLock::take(&data_dir)?;
    // The directory has keys, so nobody else may list it. Root's unprivileged database user must be able to enter it.
    let metadata = fs::metadata(&data_dir).map_err(at)?;
    let mode = if is_new { 0o700 } else { metadata.permissions().mode() & 0o7777 };
    let mode = if run_as::is_root() && metadata.uid() == 0 { mode | 0o011 } else { mode };
    if mode != metadata.permissions().mode() & 0o7777 {
        fs::set_permissions(&data_dir, fs::Permissions::from_mode(mode)).map_err(at)?;
    }
    Ok((data_dir, owner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configured_directory_is_used_as_it_is() {
        assert_eq!(choose_data_dir(Some(Path::new("/srv/x"))).unwrap(), Path::new("/srv/x"));
        assert!(choose_data_dir(Some(Path::new("x"))).unwrap().is_absolute());
    }
}
