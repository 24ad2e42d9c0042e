//! Settings of the database.

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

pub(super) const KEYS: [&Key; 3] = [&URL, &READ_URL, &DATA_DIR];

#[derive(Clone, Debug)]
pub struct DatabaseSettings {
    /// `None`: the embedded cluster.
    pub url: Option<Secret>,
    /// For lists only, never for a decision.
    pub read_url: Option<Secret>,
    /// `None`: chosen at the start.
    pub data_dir: Option<PathBuf>,
}

impl DatabaseSettings {
    /// # Errors
    /// A bad value; a replica without a primary.
    pub fn read(sources: &Sources) -> Result<Self, ConfigError> {
        let settings = Self {
            url: sources.explained_secret(&URL, check_url)?,
            read_url: sources.explained_secret(&READ_URL, check_url)?,
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

/// What is wrong with a URL, in words that quote nothing of it but its scheme: a malformed one may have the password anywhere.
fn check_url(text: &str) -> Result<(), String> {
    let Some((scheme, _)) = text.split_once("://") else {
        return Err("it is not a URL".to_owned());
    };
    if !matches!(scheme, "postgres" | "postgresql") {
        let is_plain = scheme.len() <= 12 && scheme.chars().all(|c| c.is_ascii_lowercase());
        return Err(if is_plain {
            format!("it begins with {scheme}://")
        } else {
            "it is not a URL".to_owned()
        });
    }
    let Err(error) = text.parse::<sqlx::postgres::PgConnectOptions>() else { return Ok(()) };
    // Faults of a URL in the words of the crate `url`; other errors may quote the text.
    let error = error.to_string();
    let known = [
        "invalid port number",
        "empty host",
        "invalid IPv4 address",
        "invalid IPv6 address",
        "invalid international domain name",
        "invalid domain character",
    ];
    Err(known.into_iter().find(|known| error.contains(known)).map_or_else(
        || "a part of it cannot be read".to_owned(),
        |known| format!("{known}; is a password with /, ?, # or @ in it written as %2F, %3F, %23, %40?"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_malformed_url_is_explained_without_its_password() {
        for (text, why) in [
            ("hunter2", "it is not a URL"),
            ("mysql://me:hunter2@x/y", "it begins with mysql://"),
            ("hunter2!://x", "it is not a URL"),
            ("postgres://me:hunter2@db:port/x", "invalid port number"),
            ("postgres://me:hunter2/9@db/x", "invalid port number"),
            ("postgres://me:hunter2@db/x?sslmode=hunter2", "a part of it cannot be read"),
        ] {
            let reason = check_url(text).unwrap_err();
            assert!(reason.starts_with(why) && !reason.contains("hunter2"), "{text}: {reason}");
        }
        for text in
            ["postgres:///headgate?host=%2Frun&user=x", "postgresql://u:p%2F@h:5433/d?sslmode=require"]
        {
            assert_eq!(check_url(text), Ok(()));
        }
    }
}
