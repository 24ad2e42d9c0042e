//! The master key: from the setting, or made once in the data directory beside the embedded database.

use crate::config::{ConfigError, Secret};
use anyhow::Context as _;
use delivery::secrets::MasterKey;
use std::{
    fs::{self, OpenOptions},
    io::{ErrorKind, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

const FILE: &str = "master.key";

/// The key that seals secrets at rest. `data_dir` is that of the embedded database; with an external one there is none, and a key made
/// up here would be lost with the container.
///
/// # Errors
/// No key for an external database; a file that cannot be read, written or understood.
pub(crate) fn master_key(given: Option<&Secret>, data_dir: Option<&Path>) -> anyhow::Result<MasterKey> {
    if let Some(key) = given {
        return MasterKey::from_base64(key.expose()).context("HEADGATE_MASTER_KEY");
    }
    let Some(data_dir) = data_dir else {
        let words = "HEADGATE_MASTER_KEY is not set: with a database of your own it must be, the same for every process \
                     (`openssl rand -base64 32` makes one)";
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

/// Made whole under another name first: half a key would lock everybody out for good. The name of its own and the link, which fails when
/// the file is there already, keep two processes that start at once to one key: the later one takes the key of the earlier one.
fn create(path: &Path) -> anyhow::Result<MasterKey> {
    let key = MasterKey::generate();
    let scratch = path.with_extension(format!("{}.new", uuid::Uuid::now_v7()));
    let linked = write_whole(&scratch, &key).and_then(|()| fs::hard_link(&scratch, path));
    // It held the key under a second name; a failed start must not leave that behind either.
    let _ = fs::remove_file(&scratch);
    match linked {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return Ok(MasterKey::from_base64(&fs::read_to_string(path)?)?);
        }
        Err(error) => return Err(error.into()),
    }
    // The name must outlive a power cut as the key itself does.
    if let Some(directory) = path.parent() {
        fs::File::open(directory)?.sync_all()?;
    }
    tracing::info!(
        "made the key that seals secrets at rest: {} (keep a copy with your backups)",
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
    fn the_key_is_made_once_and_for_its_owner_alone() {
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
        // All of them have found no file.
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
    fn an_external_database_wants_a_key_of_its_own() {
        let error = master_key(None, None).err().unwrap();
        assert!(error.is::<ConfigError>() && error.to_string().contains("HEADGATE_MASTER_KEY is not set"));
    }
}
