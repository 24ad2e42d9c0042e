//! A directory for each test, and a program that can be killed.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use server::embedded_postgres::EmbeddedPostgres;
use sqlx::{Connection, PgConnection};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Set in the process that is to be killed, to its data directory.
const VICTIM: &str = "HEADGATE_TEST_VICTIM";

/// A data directory that the database's user can enter; removed afterwards.
pub(crate) struct DataDir(PathBuf);

impl DataDir {
    pub(crate) fn empty() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = PathBuf::from(format!("/tmp/headgate-embedded-{}-{number}", std::process::id()));
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn postmaster(&self) -> Option<Pid> {
        let file = fs::read_to_string(self.0.join("postgres/data/postmaster.pid")).ok()?;
        Some(Pid::from_raw(file.lines().next()?.parse().unwrap()))
    }
}

impl Drop for DataDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) async fn insert_row(url: &str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    sqlx::query("create table if not exists kept (at timestamptz)").execute(&mut connection).await.unwrap();
    sqlx::query("insert into kept values (now())").execute(&mut connection).await.unwrap();
}

/// The number of rows [`insert_row`] wrote.
pub(crate) async fn row_count(url: &str) -> i64 {
    let mut connection = PgConnection::connect(url).await.unwrap();
    sqlx::query_scalar("select count(*) from kept").fetch_one(&mut connection).await.unwrap()
}

/// In the process that is to be killed, starts the database, writes a row and waits; elsewhere does nothing.
pub(crate) async fn run_as_victim() -> bool {
    let Some(path) = std::env::var_os(VICTIM) else { return false };
    let database = EmbeddedPostgres::start(Path::new(&path)).await.unwrap();
    insert_row(database.url()).await;
    println!("\nready");
    tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new())).await.unwrap().unwrap();
    true
}

/// Another process of this test binary, running `test`, which must call [`run_as_victim`] first.
pub(crate) struct Victim(Child);

impl Victim {
    /// Returns when its database runs and has a row. `search_path` is its `PATH`, to find `setpriv` or not.
    pub(crate) fn start(test: &str, data_dir: &DataDir, search_path: Option<&str>) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture"]).env(VICTIM, data_dir.path());
        if let Some(search_path) = search_path {
            command.env("PATH", search_path);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.map_while(Result::ok).any(|line| line == "ready"), "the victim did not start");
        Self(child)
    }

    /// `kill -9`: no destructor, no signal handler.
    pub(crate) fn kill(mut self) {
        kill(Pid::from_raw(self.0.id().cast_signed()), Signal::SIGKILL).unwrap();
        self.0.wait().unwrap();
    }
}
