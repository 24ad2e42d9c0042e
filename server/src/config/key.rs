//! The description of a setting: its names, its default, what is accepted.

#[derive(Debug)]
pub struct Key {
    /// The environment variable.
    pub name: &'static str,
    /// Another variable, read when the first is unset.
    pub alias: Option<&'static str>,
    /// As in the environment variable.
    pub default: Option<&'static str>,
    /// What it does, for `--help`.
    pub meaning: &'static str,
    /// What is accepted, including the unit: ends the sentence "must be …".
    pub accepted: &'static str,
    /// Secret values are never shown.
    pub is_secret: bool,
}

impl Key {
    pub const fn optional(name: &'static str, meaning: &'static str, accepted: &'static str) -> Self {
        Self { name, alias: None, default: None, meaning, accepted, is_secret: false }
    }

    pub const fn with_default(
        name: &'static str,
        default: &'static str,
        meaning: &'static str,
        accepted: &'static str,
    ) -> Self {
        Self { name, alias: None, default: Some(default), meaning, accepted, is_secret: false }
    }

    pub const fn secret(name: &'static str, meaning: &'static str, accepted: &'static str) -> Self {
        Self { name, alias: None, default: None, meaning, accepted, is_secret: true }
    }

    /// Adds a second variable.
    pub const fn or(mut self, alias: &'static str) -> Self {
        self.alias = Some(alias);
        self
    }

    /// The name in the TOML file: `workers` for `HEADGATE_WORKERS`.
    pub fn toml_name(&self) -> String {
        toml_name(self.name)
    }

    /// The flag without the leading hyphens: `poll-interval` for `HEADGATE_POLL_INTERVAL`.
    pub fn flag(&self) -> String {
        self.toml_name().replace('_', "-")
    }
}

pub(super) fn toml_name(variable: &str) -> String {
    variable.strip_prefix("HEADGATE_").unwrap_or(variable).to_ascii_lowercase()
}
