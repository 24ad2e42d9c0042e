//! The server process, a child of this one.

use super::{EmbeddedError, cluster::Cluster, orphan, pid_file::PidFile, processes};
use nix::sys::signal::Signal;
use std::future::Future;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, thread};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

/// Recovery after a crash reads the whole write-ahead log since the last checkpoint.
const START_TIMEOUT: Duration = Duration::from_secs(600);

/// A running server; dropping this asks it to end.
#[derive(Debug)]
pub(super) struct Postmaster {
    pid: i32,
    /// The exit status, once it has ended.
    ended: watch::Receiver<Option<String>>,
    /// Where this run's part of the log begins.
    log_start: u64,
}

impl Postmaster {
    /// Cleans up after an earlier run and starts the server; call [`until_ready`](Self::until_ready) next.
    pub(super) async fn start(cluster: &Cluster) -> Result<Self, EmbeddedError> {
        orphan::clear(cluster).await?;
        let log_start = fs::metadata(&cluster.log).map_or(0, |log| log.len());
        Self::spawn(cluster.server()?, log_start).map_err(|error| EmbeddedError::io(&cluster.data, error))
    }

    /// Resolves with the exit status.
    pub(super) fn ended(&self) -> impl Future<Output = String> + Send + use<> {
        let mut ended = self.ended.clone();
        async move {
            // The thread that waits for the process owns the sender, and sends before it drops it.
            let status = ended.wait_for(Option::is_some).await;
            status.ok().and_then(|status| status.clone()).unwrap_or_default()
        }
    }

    /// Fast shutdown, then immediate shutdown; returns when it has ended.
    pub(super) async fn stop(&self) -> Result<(), EmbeddedError> {
        for (signal, seconds) in [(Signal::SIGINT, 60), (Signal::SIGQUIT, 5)] {
            self.signal(signal);
            if timeout(Duration::from_secs(seconds), self.ended()).await.is_ok() {
                return Ok(());
            }
        }
        Err(EmbeddedError::NotStopped { pid: self.pid.unsigned_abs() })
    }

    /// The kernel's parent-death signal watches the thread that started the child, not the process. So a thread of its own starts the child and
    /// waits until it ends.
    fn spawn(mut command: Command, log_start: u64) -> io::Result<Self> {
        let (pid_sender, pid) = mpsc::channel();
        let (end_sender, ended) = watch::channel(None);
        let keeper = move || match command.spawn() {
            Ok(mut child) => {
                let _ = pid_sender.send(Ok(child.id()));
                let status = child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
                end_sender.send_replace(Some(status));
            }
            Err(error) => {
                let _ = pid_sender.send(Err(error));
            }
        };
        thread::Builder::new().name("postgres-keeper".into()).spawn(keeper)?;
        // Blocks for the time of a fork. It must not be cancelled, because a started server needs an owner.
        let pid = pid.recv().map_err(io::Error::other)??;
        Ok(Self { pid: pid.cast_signed(), ended, log_start })
    }

    /// Waits until it accepts connections or has ended.
    pub(super) async fn until_ready(&self, cluster: &Cluster) -> Result<(), EmbeddedError> {
        let failed = |reason| EmbeddedError::Start { reason, log: cluster.log.clone() };
        let deadline = Instant::now() + START_TIMEOUT;
        let mut next_notice = Instant::now() + Duration::from_secs(10);
        while !PidFile::read(&cluster.data).is_some_and(|file| file.pid == self.pid && file.is_ready()) {
            let status = self.ended.borrow().clone();
            if let Some(status) = status {
                return Err(failed(last_error(&cluster.log, self.log_start).unwrap_or(status)));
            }
            if Instant::now() > deadline {
                return Err(failed(format!("not ready after {} minutes", START_TIMEOUT.as_secs() / 60)));
            }
            if Instant::now() > next_notice {
                tracing::info!("the database is still recovering");
                next_notice += Duration::from_secs(10);
            }
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    fn signal(&self, signal: Signal) {
        // Once it was reaped, its process id may be another process's.
        if self.ended.borrow().is_none() {
            processes::signal(self.pid, signal);
        }
    }
}

impl Drop for Postmaster {
    fn drop(&mut self) {
        self.signal(Signal::SIGINT);
    }
}

/// The last error in the server's log after position `start`.
fn last_error(log: &Path, start: u64) -> Option<String> {
    let mut file = fs::File::open(log).ok()?;
    file.seek(SeekFrom::Start(start)).ok()?;
    let mut text = Vec::new();
    file.take(1 << 20).read_to_end(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text);
    let find_error = |level| {
        text.lines().rev().find_map(|line| line.split_once(level).map(|(_, why)| why.trim().to_owned()))
    };
    find_error("FATAL:").or_else(|| find_error("PANIC:")).or_else(|| find_error("postgres: "))
}
