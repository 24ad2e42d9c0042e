//! Worker processes: this test binary, run again.

use super::Database;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde::{Deserialize, Serialize};
use std::{
    io::Write as _,
    process::{Child as Process, Command, ExitStatus, Stdio},
    time::Duration,
};

/// Tells a process of this binary that it is a worker, and which.
pub(crate) const ORDER: &str = "HEADGATE_FAULT_WORKER";

/// What a worker process is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) number: i32,
    pub(crate) url: String,
    /// 0: maintenance alone.
    pub(crate) workers: usize,
    pub(crate) heartbeat: Duration,
    pub(crate) leader_lease: Duration,
    pub(crate) watchdog_timeout: Duration,
    /// Whose lanes it serves; none: those of `headgate`.
    pub(crate) program: Option<String>,
}

/// One worker process.
pub(crate) struct Child {
    pub(crate) number: i32,
    process: Process,
}

impl Child {
    fn start(order: &Order, preload: Option<&std::path::Path>) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["worker::be_one_when_told", "--exact", "--nocapture"])
            .env(ORDER, serde_json::to_string(order).unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        if std::env::var_os("HEADGATE_FAULT_LOG").is_none() {
            command.stderr(Stdio::null());
        }
        if let Some(preload) = preload {
            command.env("LD_PRELOAD", preload);
        }
        Self { number: order.number, process: command.spawn().unwrap() }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.process.id().cast_signed()), signal).unwrap();
    }

    /// Its end, which is waited for.
    pub(crate) async fn ended(mut self) -> ExitStatus {
        // Waiting would close it, and the worker would take us for gone.
        let _stdin = self.process.stdin.take();
        tokio::task::spawn_blocking(move || self.process.wait().unwrap()).await.unwrap()
    }
}

/// The worker processes of a round. Whatever ends the test ends them: they read from it, and nothing comes any more.
pub(crate) struct Children {
    order: Order,
    pub(crate) alive: Vec<Child>,
}

impl Children {
    pub(crate) fn of(database: &Database) -> Self {
        let order = Order {
            number: 0,
            url: database.url.clone(),
            workers: 20,
            heartbeat: Duration::from_millis(700),
            leader_lease: Duration::from_millis(1_500),
            watchdog_timeout: Duration::from_secs(60),
            program: None,
        };
        Self { order, alive: Vec::new() }
    }

    /// How those started from now on are told to be.
    pub(crate) fn order(&mut self) -> &mut Order {
        &mut self.order
    }

    pub(crate) fn start(&mut self, count: usize) {
        self.start_with(count, None);
    }

    /// With a library that is loaded before all others.
    pub(crate) fn start_with(&mut self, count: usize, preload: Option<&std::path::Path>) {
        for _ in 0..count {
            self.order.number += 1;
            self.alive.push(Child::start(&self.order, preload));
        }
    }

    /// SIGKILL; what it was at ends with it.
    pub(crate) async fn kill(&mut self, index: usize, database: &Database) {
        let child = self.alive.remove(index);
        child.signal(Signal::SIGKILL);
        let number = child.number;
        child.ended().await;
        // Its last statements may still run.
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

    /// SIGSTOP: it keeps its connections, its locks and what it believes of the world.
    pub(crate) async fn pause(&mut self, index: usize, database: &Database) {
        let child = &self.alive[index];
        child.signal(Signal::SIGSTOP);
        sqlx::query("insert into naps (child) values ($1)")
            .bind(child.number)
            .execute(&database.pool)
            .await
            .unwrap();
    }

    /// SIGCONT.
    pub(crate) async fn go_on(&mut self, index: usize, database: &Database) {
        let child = &self.alive[index];
        sqlx::query("update naps set over_at = clock_timestamp() where child = $1 and over_at = 'infinity'")
            .bind(child.number)
            .execute(&database.pool)
            .await
            .unwrap();
        child.signal(Signal::SIGCONT);
    }

    /// All stop in order.
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
