//! `headgate admin`: users and keys, for those who have access to the machine. A secret is written once, to standard output, and nowhere else.

use crate::commands::flags::{DatabaseConcerns, Flags};
use crate::config::{DatabaseSettings, Secret, TelemetrySettings};
use crate::program::{app, block_on, delivery_without_key, with_pool};
use crate::telemetry;
use access::{Access, AccessError, api_keys, users};
use anyhow::{Context as _, anyhow, bail};
use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use delivery::DeliveryConfig;
use model::{actor::Role, api_key::NewApiKey, id::AppId, user::NewUser};
use nix::sys::termios::{LocalFlags, SetArg, tcgetattr, tcsetattr};
use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Debug, Subcommand)]
pub enum Action {
    /// Create a user; the password is read from the terminal or the first line of standard input
    CreateUser {
        /// The address the user signs in with
        #[arg(long)]
        email: String,
        /// operator, support or auditor
        #[arg(long, default_value = "operator", value_parser = roles(), hide_possible_values = true)]
        role: Role,
        /// Display name [default: the part of the e-mail address before the at sign]
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        settings: Flags<DatabaseConcerns>,
    },
    /// Create an API key and write it to standard output, only this once
    CreateApiKey {
        /// What the key is for
        #[arg(long)]
        name: String,
        /// operator, support, auditor, producer, worker or portal
        #[arg(long, value_parser = roles(), hide_possible_values = true)]
        role: Role,
        /// Slug or id of the app it is bound to (producer and portal must be, worker may be)
        #[arg(long)]
        app: Option<String>,
        /// How long the key is valid, such as 90d [default: unlimited]
        #[arg(long, value_parser = duration)]
        expires_in: Option<Duration>,
        #[command(flatten)]
        settings: Flags<DatabaseConcerns>,
    },
    /// Set a user's password, read as with create-user; ends the user's sessions
    ResetPassword {
        /// The user's e-mail address
        #[arg(long)]
        email: String,
        #[command(flatten)]
        settings: Flags<DatabaseConcerns>,
    },
}

/// Names them all when it is none of them.
fn roles() -> impl TypedValueParser<Value = Role> {
    PossibleValuesParser::new(Role::ALL.iter().map(|role| role.as_str())).try_map(|name| name.parse::<Role>())
}

/// What to do once the database is open.
enum Work {
    CreateUser { email: String, role: Role, name: Option<String>, password: Secret },
    CreateApiKey { name: String, role: Role, app: Option<String>, expires_in: Option<Duration> },
    ResetPassword { email: String, password: Secret },
}

/// # Errors
/// A bad setting or input.
pub fn run(action: Action, config: Option<&PathBuf>) -> anyhow::Result<ExitCode> {
    let (settings, work) = match action {
        Action::CreateUser { email, role, name, settings } => {
            (settings, Work::CreateUser { email, role, name, password: password()? })
        }
        Action::CreateApiKey { name, role, app, expires_in, settings } => {
            (settings, Work::CreateApiKey { name, role, app, expires_in })
        }
        Action::ResetPassword { email, settings } => {
            (settings, Work::ResetPassword { email, password: password()? })
        }
    };
    let sources = settings.sources(config)?;
    telemetry::start(&TelemetrySettings::read(&sources)?);
    let database = DatabaseSettings::read(&sources)?;
    let output = block_on(with_pool(&database, "headgate admin", 2, async |pool| {
        queue::migrate::run(pool).await?;
        carry_out(pool, work).await
    }))?;
    writeln!(io::stdout(), "{output}")?;
    Ok(ExitCode::SUCCESS)
}

/// Returns what to write to standard output.
async fn carry_out(pool: &sqlx::PgPool, work: Work) -> anyhow::Result<String> {
    let access = Access::new(pool.clone(), None);
    let system = Access::system();
    match work {
        Work::CreateUser { email, role, name, password } => {
            let new = NewUser { email, name, role, password: password.expose().to_owned() };
            let user = users::create(&access, &system, new).await?;
            Ok(format!("created {} {}", user.role, user.email))
        }
        Work::ResetPassword { email, password } => {
            let set = users::set_password(&access, &system, &email, password.expose().to_owned()).await;
            match set {
                Err(AccessError::NotFound) => bail!("--email {email}: there is no such user"),
                set => set?,
            }
            Ok(format!("{email} has a new password"))
        }
        Work::CreateApiKey { name, role, app, expires_in } => {
            let app_id = match app {
                Some(app) => Some(app_id(pool, &app).await?),
                None => None,
            };
            let expires_in_seconds = expires_in.map(|time| i64::try_from(time.as_secs()).unwrap_or(i64::MAX));
            let new = NewApiKey { name, role, app_id, expires_in_seconds };
            Ok(api_keys::create(&access, &system, &new).await?.key)
        }
    }
}

async fn app_id(pool: &sqlx::PgPool, name: &str) -> anyhow::Result<AppId> {
    if let Ok(id) = name.parse() {
        return Ok(id);
    }
    let delivery = delivery_without_key(pool, DeliveryConfig::default())?;
    Ok(app(&delivery, name).await?.id)
}

/// Read from the terminal, twice and without echo, or else from the first line of standard input. Never from the command line, which every
/// process of the machine can read.
fn password() -> anyhow::Result<Secret> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return line(&mut stdin.lock()).context("the password is read from the first line of standard input");
    }
    let shown = tcgetattr(&stdin)?;
    let mut hidden = shown.clone();
    hidden.local_flags.remove(LocalFlags::ECHO);
    tcsetattr(&stdin, SetArg::TCSANOW, &hidden)?;
    let asked = ask("Password: ").and_then(|first| Ok((first, ask("Repeat password: ")?)));
    tcsetattr(&stdin, SetArg::TCSANOW, &shown)?;
    let (first, second) = asked?;
    if first == second { Ok(first) } else { Err(anyhow!("the two passwords differ")) }
}

fn ask(question: &str) -> anyhow::Result<Secret> {
    let mut stderr = io::stderr();
    write!(stderr, "{question}")?;
    stderr.flush()?;
    let answer = line(&mut io::stdin().lock());
    writeln!(stderr)?;
    answer
}

fn line(input: &mut impl io::BufRead) -> anyhow::Result<Secret> {
    let mut line = String::new();
    input.by_ref().take(10_000).read_line(&mut line)?;
    let line = line.trim_end_matches(['\n', '\r']);
    if line.is_empty() { Err(anyhow!("no password was given")) } else { Ok(Secret::new(line)) }
}

fn duration(text: &str) -> Result<Duration, String> {
    let parsed = model::duration::parse(text).filter(|duration| *duration >= Duration::from_secs(1));
    parsed.ok_or_else(|| "must be a duration such as 90d".to_owned())
}
