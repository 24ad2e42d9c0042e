//! Reads and checks the value of one setting.

use super::error::{ConfigError, Origin};
use super::key::Key;
use super::secret::Secret;
use super::sources::Sources;
use ipnet::IpNet;
use std::{net::IpAddr, ops::RangeInclusive, str::FromStr, time::Duration};

impl Sources {
    /// The parsed value; `None` when unset.
    pub fn optional<T>(
        &self,
        key: &Key,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        let Some((text, origin)) = self.find(key) else { return Ok(None) };
        parse(text).map(Some).ok_or_else(|| refuse(key, text, &origin))
    }

    /// As [`optional`](Self::optional), for a key with a default.
    pub fn required<T>(&self, key: &Key, parse: impl FnOnce(&str) -> Option<T>) -> Result<T, ConfigError> {
        let refusal = || refuse(key, "", &Origin::Environment(key.name));
        self.optional(key, parse)?.ok_or_else(refusal)
    }

    pub fn number<T: FromStr + PartialOrd>(
        &self,
        key: &Key,
        range: RangeInclusive<T>,
    ) -> Result<T, ConfigError> {
        self.required(key, |text| text.parse().ok().filter(|number| range.contains(number)))
    }

    /// A duration such as `250ms` or `7d`.
    pub fn duration(&self, key: &Key, range: RangeInclusive<Duration>) -> Result<Duration, ConfigError> {
        self.required(key, |text| model::duration::parse(text).filter(|duration| range.contains(duration)))
    }

    pub fn secret(&self, key: &Key, check: impl FnOnce(&str) -> bool) -> Result<Option<Secret>, ConfigError> {
        self.optional(key, |text| check(text).then(|| Secret::new(text)))
    }

    /// As [`secret`](Self::secret); `check` also tells what is wrong, without quoting the secret.
    pub fn explained_secret(
        &self,
        key: &Key,
        check: impl FnOnce(&str) -> Result<(), String>,
    ) -> Result<Option<Secret>, ConfigError> {
        let Some((text, origin)) = self.find(key) else { return Ok(None) };
        check(text).map(|()| Some(Secret::new(text))).map_err(|why| {
            let mut refusal = refuse(key, text, &origin);
            if let ConfigError::Value { value, .. } = &mut refusal {
                *value = format!("(hidden: {why})");
            }
            refusal
        })
    }
}

/// A list of networks; a single address is a network of one.
pub(super) fn networks(text: &str) -> Option<Vec<IpNet>> {
    let network = |text: &str| text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
    text.split(',').map(|part| network(part.trim())).collect()
}

fn refuse(key: &Key, text: &str, origin: &Origin) -> ConfigError {
    let place = match origin {
        Origin::Flag => format!("--{}", key.flag()),
        Origin::Environment(name) => (*name).to_owned(),
        Origin::File(path) => format!("{}: {}", path.display(), key.toml_name()),
        Origin::Default => key.name.to_owned(),
    };
    let value = if key.is_secret {
        "(hidden)".to_owned()
    } else {
        model::text::sanitise(text, 100).replace('\n', " ")
    };
    ConfigError::Value { place, value, accepted: key.accepted.to_owned() }
}
