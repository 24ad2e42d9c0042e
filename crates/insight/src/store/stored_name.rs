//! Names of variants in columns of text.

use model::unknown_name::UnknownName;
use queue::QueueError;
use std::str::FromStr;

/// Parses the stored name of a variant. A CHECK of the table allows known names only: an unknown one was written by a newer version.
pub(crate) fn parse_stored<T: FromStr<Err = UnknownName>>(name: &str) -> Result<T, QueueError> {
    name.parse().map_err(|error: UnknownName| sqlx::Error::Decode(error.into()).into())
}
