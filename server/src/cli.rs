//! The command line.
//!
//! Exit codes: 0 done, 1 failed, 2 the command line or a setting is wrong, 3 an import left records out, 130 an import was stopped by a signal.

use crate::commands::flags::{DatabaseConcerns, Flags, ServeConcerns, WorkerConcerns};
use crate::commands::{self, print_error};
use crate::config::ConfigError;
use clap::{Parser, Subcommand, error::ErrorKind};
use std::{path::PathBuf, process::ExitCode};

const FAILED: u8 = 1;
const USAGE_ERROR: u8 = 2;

/// Delivers every change of a record to every system that needs it, with a live console.
#[derive(Debug, Parser)]
#[command(name = "headgate", version, max_term_width = 110)]
pub struct Cli {
    /// TOML file with settings: the names of the HEADGATE_ variables in lower case, without the prefix
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// API, console and workers in one process (--workers 0: no workers)
    Serve(Flags<ServeConcerns>),
    /// Workers only, on the same database: any number of processes, on any host
    Worker(Flags<WorkerConcerns>),
    /// Apply migrations and exit
    Migrate(Flags<DatabaseConcerns>),
    /// Serve, with sample apps, integrations, a stream of changes and external systems to deliver to
    Demo(Flags<ServeConcerns>),
    /// Read records from a file or standard input
    Import {
        #[command(subcommand)]
        what: commands::import::Import,
    },
    /// Users and keys
    Admin {
        #[command(subcommand)]
        action: commands::admin::Action,
    },
    /// Write dead letters, records or sent state to standard output
    Export(commands::export::Export),
}

/// Runs the command line; an error is printed in one line.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage_error(&error),
    };
    match run(cli) {
        Ok(code) => code,
        Err(error) => {
            let code = if error.is::<ConfigError>() { USAGE_ERROR } else { FAILED };
            print_error(&one_line(&model::text::causes(error.as_ref())));
            ExitCode::from(code)
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    let config = cli.config.as_ref();
    match cli.command {
        Command::Serve(flags) => commands::serve::run(&flags.sources(config)?),
        Command::Worker(flags) => commands::worker::run(&flags.sources(config)?),
        Command::Migrate(flags) => commands::migrate::run(&flags.sources(config)?),
        Command::Demo(flags) => commands::demo::run(flags.sources(config)?),
        Command::Import { what } => commands::import::run(what, config),
        Command::Admin { action } => commands::admin::run(action, config),
        Command::Export(export) => commands::export::run(export, config),
    }
}

/// Help and version go to standard output; a mistake is one line with a hint.
fn usage_error(error: &clap::Error) -> ExitCode {
    let is_requested = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    if is_requested || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // A closed pipe (`headgate --help | head`) is not an error.
        let _ = error.print();
        return if is_requested { ExitCode::SUCCESS } else { ExitCode::from(USAGE_ERROR) };
    }
    let text = error.render().to_string();
    // The error and the tips, without the usage.
    let words: Vec<&str> = text
        .lines()
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    print_error(&format!("{} (see --help)", words.join(" ").trim_start_matches("error: ")));
    ExitCode::from(USAGE_ERROR)
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::all_keys;
    use clap::CommandFactory as _;
    use std::collections::BTreeMap;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_setting_of_serve_is_a_flag_with_its_default_and_variable() {
        let mut command = Cli::command();
        let help = command.find_subcommand_mut("serve").unwrap().render_long_help().to_string();
        for key in all_keys() {
            assert!(help.contains(&format!("--{} <", key.flag())), "{}", key.name);
            assert!(help.contains(key.name), "{}", key.name);
        }
    }

    #[test]
    fn a_flag_is_read_as_the_variable_it_stands_for() {
        let cli = Cli::try_parse_from(["headgate", "serve", "--workers", "0", "--config", "x.toml"]).unwrap();
        assert_eq!(cli.config, Some(PathBuf::from("x.toml")));
        let Command::Serve(flags) = cli.command else { panic!("serve") };
        assert_eq!(flags.given, BTreeMap::from([("HEADGATE_WORKERS", "0".to_owned())]));
    }
}
