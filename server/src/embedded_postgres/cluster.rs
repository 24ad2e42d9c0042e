//! The cluster on disk: `postgres/` in the data directory, with `data`, `run` (the socket) and the server's log.

use super::binaries::{self, Binaries};
use super::private_folder::create_folder;
use super::run_as::{self, DatabaseUser};
use super::{EmbeddedError, child, socket};
use sqlx::{Connection, PgConnection};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name of the database and of its owner.
const NAME: &str = "headgate";

/// A larger log is renamed at the next start.
const MAX_LOG_BYTES: u64 = 16 << 20;

/// An existing cluster with everything needed to start it.
#[derive(Clone, Debug)]
pub(super) struct Cluster {
    home: PathBuf,
    pub(super) data: PathBuf,
    pub(super) socket_dir: PathBuf,
    pub(super) log: PathBuf,
    binaries: Binaries,
    user: Option<DatabaseUser>,
}

impl Cluster {
    /// Opens the cluster of a data directory, or creates it.
    pub(super) fn open(data_dir: &Path) -> Result<Self, EmbeddedError> {
        let user = run_as::database_user(data_dir)?;
        if let Some(user) = &user
            && let Some(path) = user.first_closed(data_dir)
        {
            return Err(EmbeddedError::Unreachable { path, user: user.name.clone() });
        }
        let home = data_dir.join("postgres");
        create_folder(&home, user.as_ref())?;
        let data = home.join("data");
        let binaries = binaries::find(&data)?;
        let socket_dir = socket::folder(&home, user.as_ref())?;
        let log = home.join("postgres.log");
        let cluster = Self { home, data, socket_dir, log, binaries, user };
        if !cluster.data.join("PG_VERSION").exists() {
            cluster.initialise()?;
        }
        Ok(cluster)
    }

    /// The name in the titles of this cluster's processes, which distinguishes them from those of other clusters.
    pub(super) fn name(&self) -> String {
        format!("{NAME}-{}", socket::digest(&self.home))
    }

    pub(super) fn server(&self) -> Result<Command, EmbeddedError> {
        let at = |error| EmbeddedError::io(&self.log, error);
        if fs::metadata(&self.log).is_ok_and(|log| log.len() > MAX_LOG_BYTES) {
            fs::rename(&self.log, self.log.with_extension("log.1")).map_err(at)?;
        }
        let log = fs::OpenOptions::new().create(true).append(true).open(&self.log).map_err(at)?;
        let mut command = self.command("postgres");
        command.arg("-D").arg(&self.data).arg("-k").arg(&self.socket_dir);
        for setting in self.settings() {
            command.args(["-c", &setting]);
        }
        command.stdout(std::process::Stdio::null()).stderr(log);
        Ok(command)
    }

    /// Creates Headgate's database if it is missing, and returns its URL.
    pub(super) async fn ensure_database(&self) -> Result<String, EmbeddedError> {
        let mut connection =
            PgConnection::connect(&self.url("postgres")).await.map_err(EmbeddedError::Connect)?;
        let exists = sqlx::query("select from pg_database where datname = $1")
            .bind(NAME)
            .fetch_optional(&mut connection);
        if exists.await.map_err(EmbeddedError::Connect)?.is_none() {
            sqlx::query("create database headgate")
                .execute(&mut connection)
                .await
                .map_err(EmbeddedError::Connect)?;
        }
        connection.close().await.map_err(EmbeddedError::Connect)?;
        Ok(self.url(NAME))
    }

    /// Names everything that the environment (`PGPORT` and the like) could change.
    fn url(&self, database: &str) -> String {
        let socket_dir: String =
            url::form_urlencoded::byte_serialize(self.socket_dir.as_os_str().as_encoded_bytes()).collect();
        format!("postgres:///{database}?host={socket_dir}&port={}&user={NAME}&sslmode=disable", socket::PORT)
    }

    fn settings(&self) -> Vec<String> {
        let mut settings: Vec<String> = [
            // Accessible only through the socket, by its owner and root.
            "listen_addresses=",
            "unix_socket_permissions=0700",
            // The just-in-time compiler adds 40 ms to a claim that takes 2.
            "jit=off",
            // Containers have little shared memory for parallel queries, and our queries are short.
            "max_parallel_workers_per_gather=0",
            "shared_buffers=256MB",
            "max_connections=200",
            "synchronous_commit=on",
            // Deltas and finished rows are many small writes, so fewer, larger checkpoints are better.
            "max_wal_size=2GB",
            "checkpoint_timeout=15min",
            // Otherwise a process that hangs would keep its locks without limit.
            "idle_in_transaction_session_timeout=60s",
            "timezone=UTC",
            "log_timezone=UTC",
            "log_checkpoints=off",
            "logging_collector=off",
            // So that the cluster's processes can be found in the process list.
            "update_process_title=on",
        ]
        .map(str::to_owned)
        .to_vec();
        settings.push(format!("port={}", socket::PORT));
        settings.push(format!("cluster_name={}", self.name()));
        settings
    }

    /// Creates the cluster in a scratch directory that is then renamed, so that an incomplete one is never used.
    fn initialise(&self) -> Result<(), EmbeddedError> {
        let started = std::time::Instant::now();
        let scratch = self.home.join("data.new");
        if scratch.exists() {
            fs::remove_dir_all(&scratch).map_err(|error| EmbeddedError::io(&scratch, error))?;
        }
        let output = self
            .command("initdb")
            .args(["-U", NAME, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-instructions", "-D"])
            .arg(&scratch)
            .output()
            .map_err(|error| EmbeddedError::io(&self.binaries.folder, error))?;
        if !output.status.success() {
            return Err(EmbeddedError::Initdb { reason: reason(&output.stderr) });
        }
        fs::rename(&scratch, &self.data).map_err(|error| EmbeddedError::io(&self.data, error))?;
        tracing::info!(
            version = self.binaries.version,
            duration_ms = started.elapsed().as_millis(),
            "created the embedded database in {}",
            self.home.display()
        );
        Ok(())
    }

    fn command(&self, program: &str) -> Command {
        child::command(&self.binaries.folder.join(program), self.user.as_ref(), &self.home)
    }
}

/// The line of a program's standard error that has the reason, without the program's name.
fn reason(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let line = text
        .lines()
        .find_map(|line| {
            line.split_once("error: ").or_else(|| line.split_once("FATAL:  ")).map(|(_, why)| why)
        })
        .or_else(|| text.lines().rfind(|line| !line.trim().is_empty()));
    line.unwrap_or("no reason given").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::reason;

    #[test]
    fn the_line_with_the_reason_is_found() {
        assert_eq!(
            reason(b"initdb: error: could not create directory\ninitdb: hint: x\n"),
            "could not create directory"
        );
        assert_eq!(reason(b"running\nLOG:  a\nFATAL:  no space left\n"), "no space left");
        assert_eq!(reason(b"\nlast words\n\n"), "last words");
        assert_eq!(reason(b""), "no reason given");
    }
}
