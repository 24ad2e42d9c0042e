//! The server process as our child.

use super::{EmbeddedError, cluster::Cluster, orphan, pid_file::PidFile, processes};
use nix::sys::signal::Signal;
use std::{
    fs,
    future::Future,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
    process::Command,
    sync::mpsc,
    thread,
    time::Duration,
};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};

/// A recovery after a crash reads the whole log since the last checkpoint.
const START_TIMEOUT: Duration = Duration::from_secs(600);

/// A running server; dropping it asks it to end.
#[derive(Debug)]
pub(super) struct Postmaster {
    pid: i32,
    /// How it ended, once it has.
    ended: watch::Receiver<Option<String>>,
    /// Where this run's part of the log begins.
    log_start: u64,
}

impl Postmaster {
    /// Clears what an earlier run left behind and starts the server; [`until_ready`](Self::until_ready) follows.
    pub(super) async fn start(cluster: &Cluster) -> Result<Self, EmbeddedError> {
        orphan::clear(cluster).await?;
        let log_start = fs::metadata(&cluster.log).map_or(0, |log| log.len());
        Self::spawn(cluster.server()?, log_start).map_err(|error| EmbeddedError::io(&cluster.data, error))
    }

    /// Resolves with how it ended.
    pub(super) fn ended(&self) -> impl Future<Output = String> + Send + use<> {
        let mut ended = self.ended.clone();
        async move {
            // The sender lives in the thread that waits for the process, and always sends first.
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

    /// The kernel's parent-death signal watches the thread that started the child, not the process: so a thread of its
    /// own starts it and then waits for it, which is as long as it may live.
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
        // A fork's time, and not to be cancelled: a started server must have an owner.
        let pid = pid.recv().map_err(io::Error::other)??;
        Ok(Self { pid: pid.cast_signed(), ended, log_start })
    }

    /// Waits until it answers, as long as it lives.
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
        // Once it was waited for, its number may be somebody else's.
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

/// What the server complained of, in the part of its log since `start`.
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
