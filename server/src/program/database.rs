//! The database of a command, and which process keeps it running.
//!
//! Without a URL it is the embedded cluster. One process owns the cluster (`serve`, `demo`) and writes its URL to the data directory, where
//! `worker`, `import` and the like find it.

use crate::config::{DatabaseSettings, Secret};
use crate::embedded_postgres::{EmbeddedError, EmbeddedPostgres, choose_data_dir};
use anyhow::Context as _;
use sqlx::{ConnectOptions as _, Connection as _, postgres::PgConnectOptions};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

/// Has the URL of the running embedded cluster, for other commands on this machine.
const URL_FILE: &str = "database.url";
/// How long an external database may take to answer at the start, because it may be starting too.
const START_TIMEOUT: Duration = Duration::from_secs(15);
const MIN_VERSION: u32 = 150_000;

/// How a command uses the embedded cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// This process must run it: `serve`, `demo`.
    Own,
    /// Another process must run it: `worker`.
    Join,
    /// This process runs it unless another one does: `migrate`, `import`, `admin`, `export`.
    Either,
}

/// A database that has answered.
pub(crate) struct Database {
    pub(crate) url: Secret,
    /// Of the embedded cluster; `None` for an external database.
    pub(crate) data_dir: Option<PathBuf>,
    keeper: Option<Keeper>,
}

/// Restarts the cluster when it dies, and stops it at the end.
struct Keeper {
    stop: CancellationToken,
    task: JoinHandle<Result<(), EmbeddedError>>,
    url_file: PathBuf,
}

impl Database {
    /// Connects to the database, or starts it.
    pub(crate) async fn open(settings: &DatabaseSettings, mode: Mode) -> anyhow::Result<Self> {
        if let Some(url) = &settings.url {
            wait_until_it_answers(url).await?;
            return Ok(Self { url: url.clone(), data_dir: None, keeper: None });
        }
        let data_dir = choose_data_dir(settings.data_dir.as_deref())?;
        if mode == Mode::Join {
            return Self::join(data_dir).await;
        }
        match EmbeddedPostgres::start(&data_dir).await {
            Ok(postgres) => Self::keep(postgres, data_dir),
            Err(EmbeddedError::Owned { .. }) if mode == Mode::Either => Self::join(data_dir).await,
            Err(error) => Err(error.into()),
        }
    }

    /// As [`Self::open`], unless `stop` is cancelled while an external database is awaited: then none. (A cluster of our own is first started, then
    /// stopped in order.)
    pub(crate) async fn open_unless(
        stop: &CancellationToken,
        settings: &DatabaseSettings,
        mode: Mode,
    ) -> anyhow::Result<Option<Self>> {
        tokio::select! {
            opened = Self::open(settings, mode) => opened.map(Some),
            () = stop.cancelled(), if settings.url.is_some() => Ok(None),
        }
    }

    /// Stops the cluster if this process started it. Pools must be closed before.
    pub(crate) async fn close(self) {
        let Some(keeper) = self.keeper else { return };
        keeper.stop.cancel();
        // It may not exist.
        let _ = fs::remove_file(&keeper.url_file);
        match keeper.task.await {
            Ok(Ok(())) => tracing::info!("the embedded database stopped"),
            Ok(Err(error)) => tracing::error!("{error}"),
            Err(error) => tracing::error!("the keeper of the embedded database ended: {error}"),
        }
    }

    fn keep(mut postgres: EmbeddedPostgres, data_dir: PathBuf) -> anyhow::Result<Self> {
        let url = Secret::new(postgres.url());
        let url_file = data_dir.join(URL_FILE);
        write_url(&url_file, &url).with_context(|| format!("{} cannot be written", url_file.display()))?;
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            tokio::select! {
                never = postgres.keep_running() => match never {},
                () = stopped.cancelled() => {}
            }
            postgres.stop().await
        });
        Ok(Self { url, data_dir: Some(data_dir), keeper: Some(Keeper { stop, task, url_file }) })
    }

    async fn join(data_dir: PathBuf) -> anyhow::Result<Self> {
        let not_running = || {
            format!(
                "no headgate runs an embedded database in {}: start `headgate serve` there, or set HEADGATE_DATABASE_URL",
                data_dir.display()
            )
        };
        let text = fs::read_to_string(data_dir.join(URL_FILE)).with_context(not_running)?;
        let url = Secret::new(text.trim());
        connect_once(&url).await.with_context(not_running)?;
        Ok(Self { url, data_dir: Some(data_dir), keeper: None })
    }
}

fn write_url(path: &Path, url: &Secret) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    writeln!(file, "{}", url.expose())
}

/// Retries for a while as long as there is no answer at all; a refusal with a reason is final.
async fn wait_until_it_answers(url: &Secret) -> anyhow::Result<()> {
    let deadline = Instant::now() + START_TIMEOUT;
    loop {
        match connect_once(url).await {
            Ok(()) => return Ok(()),
            Err(error) if is_absent(&error) && Instant::now() < deadline => {
                // Only debug, because a failed start prints one line, the final error.
                tracing::debug!("waiting for the database: {error}");
                sleep(Duration::from_millis(500)).await;
            }
            Err(error) => {
                let what = refusal(&error, url);
                return Err(anyhow::Error::new(error).context(what));
            }
        }
    }
}

/// What the database refused, and how to mend it where that is known; the error has the database's own words.
fn refusal(error: &sqlx::Error, url: &Secret) -> String {
    let code = error.as_database_error().and_then(|error| error.code());
    let remedy = match (code.as_deref(), PgConnectOptions::from_str(url.expose())) {
        (Some("3D000"), Ok(options)) => {
            let database = options.get_database().unwrap_or(options.get_username());
            format!(" does not exist: create it (`createdb {database}`) or name another one")
        }
        (Some(code), Ok(options)) if code.starts_with("28") => {
            let user = options.get_username();
            format!(
                " does not let the user {user} in: create that role if it is missing (`createuser {user}`), or correct the password or pg_hba.conf"
            )
        }
        _ => String::new(),
    };
    format!("the database of HEADGATE_DATABASE_URL{remedy}")
}

/// Connects without a pool, because a pool would only report a timeout instead of the cause.
async fn connect_once(url: &Secret) -> Result<(), sqlx::Error> {
    let options = PgConnectOptions::from_str(url.expose())?.application_name("headgate start");
    let connecting = timeout(Duration::from_secs(5), options.connect());
    let slow = || sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, "no answer within 5 s"));
    let connection = connecting.await.map_err(|_| slow())??;
    let version = connection.server_version_num();
    connection.close().await?;
    match version {
        Some(version) if version < MIN_VERSION => {
            let words = format!("PostgreSQL {} is too old: 15 or newer is needed", version / 10_000);
            Err(sqlx::Error::Configuration(words.into()))
        }
        _ => Ok(()),
    }
}

fn is_absent(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) => true,
        sqlx::Error::Database(error) => error.code().is_some_and(|code| code == "57P03"),
        _ => false,
    }
}
