//! What is known of a setting before it is read: its names, its default, what is accepted.

/// One setting.
#[derive(Debug)]
pub struct Key {
    /// The environment variable.
    pub name: &'static str,
    /// Another variable that is read when the first is unset.
    pub alias: Option<&'static str>,
    /// As the environment variable would say it; none: unset.
    pub default: Option<&'static str>,
    /// What it does, for `--help`.
    pub meaning: &'static str,
    /// What is accepted, unit included: ends the sentence "must be …".
    pub accepted: &'static str,
    /// Whether its value is never shown.
    pub is_secret: bool,
}

impl Key {
    /// A setting without a default.
    pub const fn optional(name: &'static str, meaning: &'static str, accepted: &'static str) -> Self {
        Self { name, alias: None, default: None, meaning, accepted, is_secret: false }
    }

    /// A setting with one.
    pub const fn with_default(
        name: &'static str,
        default: &'static str,
        meaning: &'static str,
        accepted: &'static str,
    ) -> Self {
        Self { name, alias: None, default: Some(default), meaning, accepted, is_secret: false }
    }

    /// A setting whose value is never shown.
    pub const fn secret(name: &'static str, meaning: &'static str, accepted: &'static str) -> Self {
        Self { name, alias: None, default: None, meaning, accepted, is_secret: true }
    }

    /// The same with a second variable.
    pub const fn or(mut self, alias: &'static str) -> Self {
        self.alias = Some(alias);
        self
    }

    /// `workers` of `HEADGATE_WORKERS`: its name in the TOML file.
    pub fn toml_name(&self) -> String {
        toml_name(self.name)
    }

    /// `--poll-interval` of `HEADGATE_POLL_INTERVAL`, without the hyphens in front.
    pub fn flag(&self) -> String {
        self.toml_name().replace('_', "-")
    }
}

/// The TOML name of an environment variable.
pub(super) fn toml_name(variable: &str) -> String {
    variable.strip_prefix("HEADGATE_").unwrap_or(variable).to_ascii_lowercase()
}
