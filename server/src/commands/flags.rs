//! Settings as flags of a command.

use crate::config::{Concern, ConfigError, Sources, all_keys};
use clap::{Arg, ArgMatches, Args, FromArgMatches};
use std::{collections::BTreeMap, marker::PhantomData, path::PathBuf};

/// The settings a command takes as flags: one for each variable of its concerns.
#[derive(Debug)]
pub struct Flags<C> {
    pub(crate) given: BTreeMap<&'static str, String>,
    concerns: PhantomData<fn() -> C>,
}

/// The settings a command reads, in the order of `--help`.
pub trait Concerns {
    const CONCERNS: &'static [Concern];
}

/// For `serve` and `demo`: all.
#[derive(Debug)]
pub struct ServeConcerns;
#[derive(Debug)]
pub struct WorkerConcerns;
/// For the commands that only use the database.
#[derive(Debug)]
pub struct DatabaseConcerns;

impl Concerns for ServeConcerns {
    const CONCERNS: &'static [Concern] = &Concern::ALL;
}
impl Concerns for WorkerConcerns {
    const CONCERNS: &'static [Concern] = &[
        Concern::Database,
        Concern::Workers,
        Concern::Retry,
        Concern::Retention,
        Concern::Delivery,
        Concern::Telemetry,
    ];
}
impl Concerns for DatabaseConcerns {
    const CONCERNS: &'static [Concern] = &[Concern::Database, Concern::Telemetry];
}

impl<C: Concerns> Args for Flags<C> {
    fn augment_args(command: clap::Command) -> clap::Command {
        let keys = C::CONCERNS.iter().flat_map(|concern| concern.keys());
        keys.fold(command, |command, key| {
            let default = key.default.map_or_else(String::new, |default| format!(" [default: {default}]"));
            let help = format!("{} ({}){default} [env: {}]", key.meaning, key.accepted, key.name);
            let value_name = key.toml_name().to_ascii_uppercase();
            command.arg(
                Arg::new(key.name)
                    .long(key.flag())
                    .value_name(value_name)
                    .help(help)
                    .allow_hyphen_values(true),
            )
        })
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl<C: Concerns> FromArgMatches for Flags<C> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let keys = C::CONCERNS.iter().flat_map(|concern| concern.keys());
        let given =
            keys.filter_map(|key| Some((key.name, matches.get_one::<String>(key.name)?.clone()))).collect();
        Ok(Self { given, concerns: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<C> Flags<C> {
    /// Flags, environment and file together, in this order of precedence.
    ///
    /// # Errors
    /// An unknown key, a file that cannot be read.
    pub fn sources(self, config: Option<&PathBuf>) -> Result<Sources, ConfigError> {
        Sources::gather(self.given, std::env::vars_os(), config.map(PathBuf::as_path), &all_keys())
    }
}
