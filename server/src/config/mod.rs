//! Settings: flag, then `HEADGATE_*`, then TOML file, then default. One file per concern; a command reads only the concerns it
//! needs, so that a bad value of a setting that only another command uses stops nothing. Unknown keys stop every command.

mod database;
mod error;
mod key;
mod listen;
mod read;
mod retention;
mod retry;
mod secret;
mod security;
mod sources;
mod telemetry;
#[cfg(test)]
mod tests;
mod workers;

pub use database::DatabaseSettings;
pub use error::ConfigError;
pub use key::Key;
pub use listen::ListenSettings;
pub use retry::{RetrySettings, max_attempts};
pub use secret::Secret;
pub use security::{DeliverySettings, OperatorSettings};
pub use sources::Sources;
pub use telemetry::{LogFormat, TelemetrySettings};
pub use workers::WorkerSettings;

use model::retention::Retentions;

/// A group of settings that a command reads or does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concern {
    /// Which database.
    Database,
    /// Address and prefix.
    Listen,
    /// The engine.
    Workers,
    /// Attempts and waits.
    Retry,
    /// How long things are kept.
    Retention,
    /// Secrets at rest, allowed targets.
    Delivery,
    /// Who may enter from the start.
    Operator,
    /// The log.
    Telemetry,
}

impl Concern {
    /// All.
    pub const ALL: [Self; 8] = [
        Self::Database,
        Self::Listen,
        Self::Workers,
        Self::Retry,
        Self::Retention,
        Self::Delivery,
        Self::Operator,
        Self::Telemetry,
    ];

    /// Its settings.
    pub fn keys(self) -> &'static [&'static Key] {
        match self {
            Self::Database => &database::KEYS,
            Self::Listen => &listen::KEYS,
            Self::Workers => &workers::KEYS,
            Self::Retry => &retry::KEYS,
            Self::Retention => &retention::KEYS,
            Self::Delivery => &security::DELIVERY_KEYS,
            Self::Operator => &security::OPERATOR_KEYS,
            Self::Telemetry => &telemetry::KEYS,
        }
    }
}

/// Every setting there is.
pub fn all_keys() -> Vec<&'static Key> {
    Concern::ALL.iter().flat_map(|concern| concern.keys()).copied().collect()
}

/// What a process that runs jobs is told.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// The engine.
    pub workers: WorkerSettings,
    /// Attempts and waits.
    pub retry: RetrySettings,
    /// How long things are kept.
    pub retentions: Retentions,
    /// Secrets at rest, allowed targets.
    pub delivery: DeliverySettings,
}

impl EngineSettings {
    /// # Errors
    /// A bad value, or values that do not go together.
    pub fn read(sources: &Sources) -> Result<Self, ConfigError> {
        Ok(Self {
            workers: WorkerSettings::read(sources)?,
            retry: RetrySettings::read(sources)?,
            retentions: retention::read(sources)?,
            delivery: DeliverySettings::read(sources)?,
        })
    }
}

/// What `serve` and `demo` are told.
#[derive(Clone, Debug)]
pub struct ServeSettings {
    /// Which database.
    pub database: DatabaseSettings,
    /// Address and prefix.
    pub listen: ListenSettings,
    /// What runs the jobs.
    pub engine: EngineSettings,
    /// Who may enter from the start.
    pub operator: OperatorSettings,
}

impl ServeSettings {
    /// # Errors
    /// A bad value, or values that do not go together.
    pub fn read(sources: &Sources) -> Result<Self, ConfigError> {
        Ok(Self {
            database: DatabaseSettings::read(sources)?,
            listen: ListenSettings::read(sources)?,
            engine: EngineSettings::read(sources)?,
            operator: OperatorSettings::read(sources)?,
        })
    }
}
