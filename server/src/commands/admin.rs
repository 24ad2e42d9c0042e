//! `headgate admin`: people and keys, for whoever has the machine. A secret is written once, to standard output, and nowhere else.

use crate::{
    cli::{DatabaseConcerns, Flags},
    config::{DatabaseSettings, Secret, TelemetrySettings},
    program::{Database, Mode, block_on, close, connect},
    telemetry,
};
use access::{Access, api_keys, users};
use anyhow::{Context as _, anyhow, bail};
use clap::Subcommand;
use model::{actor::Role, api_key::NewApiKey, id::AppId, user::NewUser};
use nix::sys::termios::{LocalFlags, SetArg, tcgetattr, tcsetattr};
use std::{
    io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

#[derive(Debug, Subcommand)]
pub enum Action {
    /// Make a user; the password is read from the terminal or the first line of standard input
    CreateUser {
        /// Signs in with it
        #[arg(long)]
        email: String,
        /// operator, support or auditor
        #[arg(long, default_value = "operator")]
        role: Role,
        /// For people; by default the part of the e-mail address before its at sign
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        settings: Flags<DatabaseConcerns>,
    },
    /// Make a key of the API and write it to standard output, this once
    CreateApiKey {
        /// What it is for
        #[arg(long)]
        name: String,
        /// operator, support, auditor, producer, worker or portal
        #[arg(long)]
        role: Role,
        /// Slug or id of the app it is bound to (producer and portal must be, worker may be)
        #[arg(long)]
        app: Option<String>,
        /// Until when it is good, such as 90d [default: for ever]
        #[arg(long, value_parser = duration)]
        expires_in: Option<Duration>,
        #[command(flatten)]
        settings: Flags<DatabaseConcerns>,
    },
    /// Give a user another password, read as with create-user; ends their sessions
    ResetPassword {
        /// Whose
        #[arg(long)]
        email: String,
        #[command(flatten)]
        settings: Flags<DatabaseConcerns>,
    },
}

/// What is done once the database is there.
enum Work {
    CreateUser { email: String, role: Role, name: Option<String>, password: Secret },
    CreateApiKey { name: String, role: Role, app: Option<String>, expires_in: Option<Duration> },
    ResetPassword { email: String, password: Secret },
}

/// # Errors
/// A setting, faults of the input, the database's.
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
    block_on(async move {
        let database = Database::open(&database, Mode::Either).await?;
        let pool = connect(&database.url, "headgate admin", 2).await?;
        let result = async {
            queue::migrate::run(&pool).await?;
            carry_out(&pool, work).await
        };
        let result = result.await;
        close(&pool).await;
        database.close().await;
        let said = result?;
        writeln!(io::stdout(), "{said}")?;
        Ok(ExitCode::SUCCESS)
    })
}

/// Answers what is written to standard output.
async fn carry_out(pool: &sqlx::PgPool, work: Work) -> anyhow::Result<String> {
    let access = Access::new(pool.clone(), None);
    let system = Access::system();
    match work {
        Work::CreateUser { email, role, name, password } => {
            let new = NewUser { email, name, role, password: password.expose().to_owned() };
            let user = users::create(&access, &system, new).await?;
            Ok(format!("made {} {}", user.role, user.email))
        }
        Work::ResetPassword { email, password } => {
            let set = users::set_password(&access, &system, &email, password.expose().to_owned()).await;
            match set {
                Err(access::AccessError::NotFound) => bail!("--email {email}: there is no such user"),
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
    let guard = delivery::TargetGuard::new(Vec::new(), false);
    let (key, waker) = (delivery::MasterKey::generate(), queue::Waker::new(pool.clone()));
    let delivery =
        delivery::Delivery::new(pool.clone(), key, guard, delivery::DeliveryConfig::default(), waker)?;
    Ok(super::app_name::app(&delivery, name).await?.id)
}

/// From the terminal without showing it, twice; else the first line of standard input. Never from the command line, where every
/// process of the machine could read it.
fn password() -> anyhow::Result<Secret> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return line(&mut stdin.lock()).context("the password is read from the first line of standard input");
    }
    let shown = tcgetattr(&stdin)?;
    let mut hidden = shown.clone();
    hidden.local_flags.remove(LocalFlags::ECHO);
    tcsetattr(&stdin, SetArg::TCSANOW, &hidden)?;
    let asked = ask("Password: ").and_then(|first| Ok((first, ask("Once more: ")?)));
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
