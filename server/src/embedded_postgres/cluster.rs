//! The cluster on disk: `postgres/` in the data directory, with `data`, `run` (the socket) and the server's log.

use super::{
    EmbeddedError,
    binaries::{self, Binaries},
    child,
    run_as::{self, DatabaseUser},
    socket,
};
use sqlx::{Connection, PgConnection};
use std::{
    fs,
    os::unix::fs::{DirBuilderExt, MetadataExt, chown},
    path::{Path, PathBuf},
    process::Command,
};

/// Database and its owner in the cluster.
const NAME: &str = "headgate";

/// A log that has grown past this is put aside at the next start.
const MAX_LOG_BYTES: u64 = 16 << 20;

/// A cluster that exists, and everything needed to start it.
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
    /// Opens the cluster of a data directory; makes it when there is none.
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

    /// What tells this cluster's processes from any other's, in their titles.
    pub(super) fn name(&self) -> String {
        format!("{NAME}-{}", socket::digest(&self.home))
    }

    /// The command that runs the server.
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

    /// Makes Headgate's database when it is missing, and answers its address.
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

    /// Everything that the environment (`PGPORT` and its like) could change is named.
    fn url(&self, database: &str) -> String {
        let socket_dir: String =
            url::form_urlencoded::byte_serialize(self.socket_dir.as_os_str().as_encoded_bytes()).collect();
        format!("postgres:///{database}?host={socket_dir}&port={}&user={NAME}&sslmode=disable", socket::PORT)
    }

    /// What Headgate's engine wants from its database; RELIABILITY and DESIGN say why for each.
    fn settings(&self) -> Vec<String> {
        let mut settings: Vec<String> = [
            // Reached through the socket alone, by its owner and root.
            "listen_addresses=",
            "unix_socket_permissions=0700",
            // The just-in-time compiler costs 40 ms on a claim that takes 2.
            "jit=off",
            // Containers give little shared memory to parallel queries; ours are short.
            "max_parallel_workers_per_gather=0",
            "shared_buffers=256MB",
            "max_connections=200",
            "synchronous_commit=on",
            // Deltas and finished rows are many small writes: fewer, larger checkpoints.
            "max_wal_size=2GB",
            "checkpoint_timeout=15min",
            // A stopped process must not keep its locks for ever.
            "idle_in_transaction_session_timeout=60s",
            "timezone=UTC",
            "log_timezone=UTC",
            "log_checkpoints=off",
            "logging_collector=off",
            // So that our processes are found in the process list.
            "update_process_title=on",
        ]
        .map(str::to_owned)
        .to_vec();
        settings.push(format!("port={}", socket::PORT));
        settings.push(format!("cluster_name={}", self.name()));
        settings
    }

    /// Into a scratch directory first, then renamed: a half-made cluster is never taken for a whole one.
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
            "made the embedded database in {}",
            self.home.display()
        );
        Ok(())
    }

    fn command(&self, program: &str) -> Command {
        child::command(&self.binaries.folder.join(program), self.user.as_ref(), &self.home)
    }
}

/// A directory that only its owner can enter.
pub(super) fn create_folder(folder: &Path, user: Option<&DatabaseUser>) -> Result<(), EmbeddedError> {
    let at = |error| EmbeddedError::io(folder, error);
    if !folder.is_dir() {
        fs::DirBuilder::new().mode(0o700).create(folder).map_err(at)?;
    }
    let owner = fs::metadata(folder).map_err(at)?.uid();
    match user {
        Some(user) if owner != user.uid => chown(folder, Some(user.uid), Some(user.gid)).map_err(at),
        None if owner != nix::unistd::Uid::effective().as_raw() => {
            Err(EmbeddedError::ForeignOwner { path: folder.to_path_buf(), owner })
        }
        _ => Ok(()),
    }
}

/// The line of a program's complaint that says why, without the program's name.
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
    fn the_line_that_says_why_is_found() {
        assert_eq!(
            reason(b"initdb: error: could not create directory\ninitdb: hint: x\n"),
            "could not create directory"
        );
        assert_eq!(reason(b"running\nLOG:  a\nFATAL:  no space left\n"), "no space left");
        assert_eq!(reason(b"\nlast words\n\n"), "last words");
        assert_eq!(reason(b""), "no reason given");
    }
}
