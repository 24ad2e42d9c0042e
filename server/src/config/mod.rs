//! Settings: flag, then `HEADGATE_*`, then TOML file, then default. One file per concern. A command reads only the concerns it needs, so a
//! bad value of a setting that only other commands use does not stop it. Unknown keys stop every command.

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
    Database,
    Listen,
    /// Concurrency, claiming, leases, shutdown.
    Workers,
    /// Attempts, waits between them, breakers.
    Retry,
    Retention,
    /// Secrets at rest, allowed targets, masking.
    Delivery,
    /// The first operator and the admin key.
    Operator,
    Telemetry,
}

impl Concern {
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

pub fn all_keys() -> Vec<&'static Key> {
    Concern::ALL.iter().flat_map(|concern| concern.keys()).copied().collect()
}

/// The settings of a process that runs jobs.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    pub workers: WorkerSettings,
    pub retry: RetrySettings,
    pub retentions: Retentions,
    pub delivery: DeliverySettings,
}

impl EngineSettings {
    pub fn read(sources: &Sources) -> Result<Self, ConfigError> {
        Ok(Self {
            workers: WorkerSettings::read(sources)?,
            retry: RetrySettings::read(sources)?,
            retentions: retention::read(sources)?,
            delivery: DeliverySettings::read(sources)?,
        })
    }
}

/// The settings of `serve` and `demo`.
#[derive(Clone, Debug)]
pub struct ServeSettings {
    pub database: DatabaseSettings,
    pub listen: ListenSettings,
    pub engine: EngineSettings,
    pub operator: OperatorSettings,
}

impl ServeSettings {
    pub fn read(sources: &Sources) -> Result<Self, ConfigError> {
        Ok(Self {
            database: DatabaseSettings::read(sources)?,
            listen: ListenSettings::read(sources)?,
            engine: EngineSettings::read(sources)?,
            operator: OperatorSettings::read(sources)?,
        })
    }
}
