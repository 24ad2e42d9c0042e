//! Worker processes: this test binary runs itself again.

use super::Database;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use std::io::Write as _;
use std::process::{Child as Process, Command, ExitStatus, Stdio};
use std::time::Duration;

/// The environment variable with which a process of this binary is a worker: its [`WorkerOptions`] as JSON.
pub(crate) const WORKER_OPTIONS: &str = "HEADGATE_FAULT_WORKER";

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WorkerOptions {
    pub(crate) number: i32,
    pub(crate) url: String,
    /// 0: maintenance only.
    pub(crate) workers: usize,
    pub(crate) heartbeat: Duration,
    pub(crate) leader_lease: Duration,
    pub(crate) watchdog_timeout: Duration,
    /// The program whose lanes it serves; none: those of `headgate`.
    pub(crate) program: Option<String>,
}

pub(crate) struct Child {
    pub(crate) number: i32,
    process: Process,
}

impl Child {
    fn start(options: &WorkerOptions, preload: Option<&std::path::Path>) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["worker::run_as_a_worker_process", "--exact", "--nocapture"])
            .env(WORKER_OPTIONS, serde_json::to_string(options).unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        if std::env::var_os("HEADGATE_FAULT_LOG").is_none() {
            command.stderr(Stdio::null());
        }
        if let Some(preload) = preload {
            command.env("LD_PRELOAD", preload);
        }
        Self { number: options.number, process: command.spawn().unwrap() }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.process.id().cast_signed()), signal).unwrap();
    }

    /// Waits for the process to end.
    pub(crate) async fn ended(mut self) -> ExitStatus {
        // `wait` would close stdin, and the worker would conclude that the test is gone.
        let _stdin = self.process.stdin.take();
        tokio::task::spawn_blocking(move || self.process.wait().unwrap()).await.unwrap()
    }
}

/// The worker processes of a round. However the test ends, they end too: their stdin is closed.
pub(crate) struct Children {
    options: WorkerOptions,
    pub(crate) alive: Vec<Child>,
}

impl Children {
    pub(crate) fn of(database: &Database) -> Self {
        let options = WorkerOptions {
            number: 0,
            url: database.url.clone(),
            workers: 20,
            heartbeat: Duration::from_millis(700),
            leader_lease: Duration::from_millis(1_500),
            watchdog_timeout: Duration::from_secs(60),
            program: None,
        };
        Self { options, alive: Vec::new() }
    }

    /// Options of the processes started from now on.
    pub(crate) fn options(&mut self) -> &mut WorkerOptions {
        &mut self.options
    }

    pub(crate) fn start(&mut self, count: usize) {
        self.start_with(count, None);
    }

    /// With a library to preload.
    pub(crate) fn start_with(&mut self, count: usize, preload: Option<&std::path::Path>) {
        for _ in 0..count {
            self.options.number += 1;
            self.alive.push(Child::start(&self.options, preload));
        }
    }

    /// SIGKILL; the process's statements are ended too.
    pub(crate) async fn kill(&mut self, index: usize, database: &Database) {
        let child = self.alive.remove(index);
        child.signal(Signal::SIGKILL);
        let number = child.number;
        child.ended().await;
        // Backends may still run its last statements.
        sqlx::query("select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = current_database() and application_name = $1")
            .bind(format!("child {number}"))
            .execute(&database.pool)
            .await
            .unwrap();
        sqlx::query("insert into deaths (child) values ($1)")
            .bind(number)
            .execute(&database.pool)
            .await
            .unwrap();
    }

    /// SIGSTOP: the process keeps its connections, its locks and its state.
    pub(crate) async fn pause(&mut self, index: usize, database: &Database) {
        let child = &self.alive[index];
        child.signal(Signal::SIGSTOP);
        sqlx::query("insert into naps (child) values ($1)")
            .bind(child.number)
            .execute(&database.pool)
            .await
            .unwrap();
    }

    pub(crate) async fn resume(&mut self, index: usize, database: &Database) {
        let child = &self.alive[index];
        sqlx::query("update naps set over_at = clock_timestamp() where child = $1 and over_at = 'infinity'")
            .bind(child.number)
            .execute(&database.pool)
            .await
            .unwrap();
        child.signal(Signal::SIGCONT);
    }

    /// Shuts all of them down cleanly.
    pub(crate) async fn stop(&mut self) {
        for child in &mut self.alive {
            child.process.stdin.take().unwrap().write_all(b"stop\n").unwrap();
        }
        for child in self.alive.drain(..) {
            let number = child.number;
            let status = child.ended().await;
            assert!(status.success(), "worker {number} ended with {status}");
        }
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.alive {
            let _ = child.process.kill();
            let _ = child.process.wait();
        }
    }
}
