//! A throw-away Postgres for tests and for compile-time checked SQL.
//!
//! It has a directory of its own, listens on a socket in it and on no port, trades safety for speed, and is removed
//! afterwards, even if xtask is killed.

mod binaries;
mod guard;
mod unprivileged;

pub(crate) use binaries::find as find_binaries;

use crate::{process, progress};
use anyhow::{Context, Result, bail};
use guard::Guard;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};
use unprivileged::Unprivileged;

/// For the tests of one run: losing this cluster in a crash costs nothing.
const SETTINGS: [&str; 12] = [
    "listen_addresses=",
    "unix_socket_permissions=0700",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "wal_level=minimal",
    "max_wal_senders=0",
    "max_wal_size=256MB",
    "max_connections=300",
    "max_locks_per_transaction=256",
    "shared_buffers=128MB",
    "jit=off",
];

/// For measurements: commits are durable, and settings are those of a server that runs at such rates. The default of Postgres would be a checkpoint
/// for each gigabyte of WAL, every ten seconds here, after which each page is first written as a whole.
const DURABLE: [&str; 8] = [
    // Shows which statements took the time; it comes with the server.
    "shared_preload_libraries=pg_stat_statements",
    "pg_stat_statements.track_planning=on",
    "listen_addresses=",
    "unix_socket_permissions=0700",
    "max_connections=200",
    "shared_buffers=256MB",
    "max_wal_size=8GB",
    "checkpoint_timeout=15min",
];

const LOG: &str = "postgres.log";

/// A running throw-away cluster; dropping it stops the server and removes the directory.
pub(crate) struct Services {
    socket_dir: PathBuf,
    server: Child,
    guard: Guard,
}

impl Services {
    /// Creates and starts a cluster, in about two seconds.
    pub(crate) fn start() -> Result<Self> {
        progress::step("throw-away Postgres", || Self::start_silently(&SETTINGS, memory_or_disk()))
    }

    /// As [`start`](Self::start), with durable commits, for measurements.
    pub(crate) fn start_durable() -> Result<Self> {
        progress::step("throw-away Postgres with durable commits", || Self::start_silently(&DURABLE, DISK))
    }

    fn start_silently(settings: &[&str], parent: &str) -> Result<Self> {
        let binaries = binaries::find().context("no PostgreSQL server: `cargo xtask setup` installs it")?;
        let user = unprivileged::user()?;
        let dir = make_dir(parent, user.as_ref())?;
        let guard = Guard::over(&dir)?;
        let data = dir.join("data");
        process::run_quietly(
            command(&binaries.join("initdb"), user.as_ref(), &dir)
                .args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "-D"])
                .arg(&data),
        )?;
        let mut start = command(&binaries.join("postgres"), user.as_ref(), &dir);
        start.arg("-D").arg(&data).arg("-k").arg(&dir);
        for setting in settings {
            start.args(["-c", setting]);
        }
        let log = dir.join(LOG);
        let server = start.stdout(Stdio::null()).stderr(fs::File::create(&log)?).spawn()?;
        let mut services = Self { socket_dir: dir, server, guard };
        services.wait_until_ready(&data).with_context(|| fs::read_to_string(&log).unwrap_or_default())?;
        Ok(services)
    }

    /// The address of one of its databases, as a superuser.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres:///{database}?host={}&user=postgres", self.socket_dir.display())
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.socket_dir.join(LOG)
    }

    /// Waits until the eighth line of `postmaster.pid` is `ready`, like `pg_ctl`.
    fn wait_until_ready(&mut self, data: &Path) -> Result<()> {
        let started = Instant::now();
        loop {
            let state = fs::read_to_string(data.join("postmaster.pid")).unwrap_or_default();
            if state.lines().nth(7).is_some_and(|line| line.trim() == "ready") {
                return Ok(());
            }
            if let Some(status) = self.server.try_wait()? {
                bail!("Postgres ended with {status}");
            }
            if started.elapsed() > Duration::from_secs(60) {
                bail!("Postgres was not ready after a minute");
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Services {
    fn drop(&mut self) {
        self.guard.stop(&mut self.server);
    }
}

/// `cargo xtask services -- CMD`: for work by hand, and for the tests of one crate.
pub(crate) fn with_command(command: &[&str]) -> Result<ExitCode> {
    let services = Services::start()?;
    let shell = std::env::var("SHELL").unwrap_or_else(|_| "sh".into());
    let (program, arguments) =
        command.split_first().map_or((shell.as_str(), command), |(first, rest)| (*first, rest));
    progress::note(&format!("DATABASE_URL={}", services.url("postgres")));
    let status = Command::new(program)
        .args(arguments)
        .env("DATABASE_URL", services.url("postgres"))
        .status()
        .with_context(|| format!("cannot start {program}"))?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Not in TMPDIR: a socket's path may have at most 107 bytes, and the server cannot read root's private directories.
const DISK: &str = "/tmp";
const MEMORY: &str = "/dev/shm";
/// Databases are deleted with their tests; those of failed ones stay, and the log takes up to a quarter of a gigabyte.
const ROOM: u64 = 3 << 30;

/// Memory, where there is room. A test creates and deletes a database of 730 files; on a disk that took a third of the processor, because ext4 without
/// a journal searches for inodes that were not deleted lately.
fn memory_or_disk() -> &'static str {
    let answer = process::output_of("df", &["--output=fstype,avail", "-B1", MEMORY]);
    let has_room = answer.as_deref().and_then(room_in_memory).is_some_and(|room| room >= ROOM);
    if has_room { MEMORY } else { DISK }
}

/// `Type Avail⏎tmpfs 1073741824` → 1073741824
fn room_in_memory(answer: &str) -> Option<u64> {
    let (kind, room) = answer.lines().last()?.trim().split_once(' ')?;
    (kind == "tmpfs").then(|| room.trim().parse().ok()).flatten()
}

fn make_dir(parent: &str, user: Option<&Unprivileged>) -> Result<PathBuf> {
    let dir = PathBuf::from(format!("{parent}/headgate-test-{}", std::process::id()));
    fs::create_dir(&dir).with_context(|| dir.display().to_string())?;
    fs::set_permissions(&dir, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    if let Some(user) = user {
        chown(&dir, Some(user.uid), Some(user.gid))?;
    }
    Ok(dir)
}

fn command(program: &Path, user: Option<&Unprivileged>, dir: &Path) -> Command {
    let mut command = unprivileged::command(program, user);
    command.current_dir(dir).env("HOME", dir).env("LC_ALL", "C").stdin(Stdio::null());
    for variable in ["PGDATA", "PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGOPTIONS"] {
        command.env_remove(variable);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_system_in_memory_has_room_in_memory() {
        assert_eq!(room_in_memory("Type       Avail\ntmpfs 1073741824"), Some(1 << 30));
        assert_eq!(room_in_memory("Type       Avail\next4  1073741824"), None);
        assert_eq!(room_in_memory(""), None);
    }

    #[test]
    fn a_cluster_answers_and_leaves_nothing_behind() {
        let services = Services::start_silently(&SETTINGS, DISK).unwrap();
        let dir = services.socket_dir.clone();
        assert!(dir.join(".s.PGSQL.5432").exists());
        assert!(services.url("x").starts_with("postgres:///x?host=/tmp/headgate-test-"));
        drop(services);
        assert!(!dir.exists());
    }
}
