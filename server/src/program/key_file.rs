//! The master key: from the setting, or generated once in the data directory of the embedded database.

use crate::config::{ConfigError, Secret};
use anyhow::Context as _;
use delivery::secrets::MasterKey;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

const FILE: &str = "master.key";

/// The key that encrypts secrets at rest. `data_dir` is that of the embedded database; with an external one there is none, and a key generated
/// here would be lost with the container.
///
/// # Errors
/// No key for an external database; a file that cannot be read, written or parsed.
pub(crate) fn master_key(given: Option<&Secret>, data_dir: Option<&Path>) -> anyhow::Result<MasterKey> {
    if let Some(key) = given {
        return MasterKey::from_base64(key.expose()).context("HEADGATE_MASTER_KEY");
    }
    let Some(data_dir) = data_dir else {
        let words = "HEADGATE_MASTER_KEY is not set: an external database needs one, the same for every process \
                     (`openssl rand -base64 32` generates one)";
        return Err(ConfigError::Contradiction(words.into()).into());
    };
    let path = data_dir.join(FILE);
    match fs::read_to_string(&path) {
        Ok(text) => MasterKey::from_base64(&text).with_context(|| path.display().to_string()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            create(&path).with_context(|| format!("{} cannot be written", path.display()))
        }
        Err(error) => Err(error).with_context(|| format!("{} cannot be read", path.display())),
    }
}

/// Writes the whole key under a temporary name first, because a truncated key would make all secrets unreadable. The unique temporary name, and the
/// link, which fails if the file exists already, ensure that two processes that start at once use one key: the later one reads the earlier one's.
fn create(path: &Path) -> anyhow::Result<MasterKey> {
    let key = MasterKey::generate();
    let scratch = path.with_extension(format!("{}.new", uuid::Uuid::now_v7()));
    let linked = write_whole(&scratch, &key).and_then(|()| fs::hard_link(&scratch, path));
    // It is a second copy of the key, which must not remain, even after a failure.
    let _ = fs::remove_file(&scratch);
    match linked {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return Ok(MasterKey::from_base64(&fs::read_to_string(path)?)?);
        }
        Err(error) => return Err(error.into()),
    }
    // Syncs the directory, so that the name survives a power cut as the content does.
    if let Some(directory) = path.parent() {
        fs::File::open(directory)?.sync_all()?;
    }
    tracing::info!(
        "generated the master key, which encrypts secrets at rest: {} (keep a copy with your backups)",
        path.display()
    );
    Ok(key)
}

fn write_whole(path: &Path, key: &MasterKey) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    writeln!(file, "{}", key.to_base64().expose())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn the_key_is_generated_once_and_readable_by_its_owner_only() {
        let dir = std::env::temp_dir().join(format!("headgate-key-{}", uuid::Uuid::now_v7()));
        fs::create_dir(&dir).unwrap();
        let first = master_key(None, Some(&dir)).unwrap();
        let second = master_key(None, Some(&dir)).unwrap();
        assert!(first.to_base64() == second.to_base64());
        assert_eq!(fs::metadata(dir.join(FILE)).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(dir.join(FILE), "broken").unwrap();
        assert!(master_key(None, Some(&dir)).is_err());
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn processes_that_start_at_once_agree_on_one_key() {
        let dir = std::env::temp_dir().join(format!("headgate-key-{}", uuid::Uuid::now_v7()));
        fs::create_dir(&dir).unwrap();
        // None of them has found a file.
        let keys: Vec<String> = std::thread::scope(|scope| {
            let makers: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| create(&dir.join(FILE)).unwrap().to_base64().expose().to_owned()))
                .collect();
            makers.into_iter().map(|maker| maker.join().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| *key == keys[0]));
        assert_eq!(fs::read_to_string(dir.join(FILE)).unwrap().trim(), keys[0]);
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn an_external_database_needs_a_configured_key() {
        let error = master_key(None, None).err().unwrap();
        assert!(error.is::<ConfigError>() && error.to_string().contains("HEADGATE_MASTER_KEY is not set"));
    }
}
