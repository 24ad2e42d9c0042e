//! The lock by which one process owns a data directory.

use super::EmbeddedError;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

/// A lock that the system releases when the process ends, for whatever reason. Child processes do not inherit it.
#[derive(Debug)]
pub(super) struct OwnerLock {
    _file: File,
}

impl OwnerLock {
    pub(super) fn take(data_dir: &Path) -> Result<Self, EmbeddedError> {
        let path = data_dir.join("owner.lock");
        let at = |error| EmbeddedError::io(&path, error);
        let mut file =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path).map_err(at)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                let _ = file.read_to_string(&mut pid);
                return Err(EmbeddedError::Owned {
                    path: data_dir.to_path_buf(),
                    pid: pid.trim().parse().ok(),
                });
            }
            Err(TryLockError::Error(error)) => return Err(at(error)),
        }
        // The process id is only for the error above; the lock does not depend on it.
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()))
            .map_err(at)?;
        Ok(Self { _file: file })
    }
}
