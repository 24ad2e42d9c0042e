//! Which database.

use super::{error::ConfigError, key::Key, secret::Secret, sources::Sources};
use std::path::PathBuf;

const URL: Key = Key::secret(
    "HEADGATE_DATABASE_URL",
    "Postgres 15 or newer, direct or session-pooled; unset: an embedded cluster in the data directory",
    "a URL such as postgres://user:password@host:5432/database",
)
.or("DATABASE_URL");
const READ_URL: Key = Key::secret(
    "HEADGATE_DATABASE_READ_URL",
    "read replica for list, search and history pages",
    "a URL such as postgres://user:password@replica:5432/database",
);
const DATA_DIR: Key = Key::optional(
    "HEADGATE_DATA_DIR",
    "embedded cluster and generated keys [default: ./.headgate]",
    "a directory",
);

/// The settings of this concern.
pub(super) const KEYS: [&Key; 3] = [&URL, &READ_URL, &DATA_DIR];

/// Where the data lie. The addresses may hold passwords.
#[derive(Clone, Debug)]
pub struct DatabaseSettings {
    /// None: the embedded cluster.
    pub url: Option<Secret>,
    /// For pages only, never for a decision.
    pub read_url: Option<Secret>,
    /// None: chosen by who starts the program.
    pub data_dir: Option<PathBuf>,
}

impl DatabaseSettings {
    /// # Errors
    /// A bad value; a replica without a primary.
    pub fn read(sources: &Sources) -> Result<Self, ConfigError> {
        let settings = Self {
            url: sources.secret(&URL, is_postgres_url)?,
            read_url: sources.secret(&READ_URL, is_postgres_url)?,
            data_dir: sources.optional(&DATA_DIR, |text| Some(PathBuf::from(text)))?,
        };
        if settings.read_url.is_some() && settings.url.is_none() {
            return Err(ConfigError::Contradiction(
                "HEADGATE_DATABASE_READ_URL is set but HEADGATE_DATABASE_URL is not: the embedded database has no replica".into(),
            ));
        }
        Ok(settings)
    }
}

fn is_postgres_url(text: &str) -> bool {
    let has_scheme = text.starts_with("postgres://") || text.starts_with("postgresql://");
    has_scheme && text.parse::<sqlx::postgres::PgConnectOptions>().is_ok()
}
