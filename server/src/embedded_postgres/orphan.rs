//! Cleans up after an earlier run: a server that outlived its program, or the files of one that was killed.
//!
//! A server that still runs is stopped and a new one started, rather than adopted: the new one has the current settings, ends with this process,
//! and is its child, so its end is noticed.

use super::{EmbeddedError, cluster::Cluster, pid_file::PidFile, processes, socket};
use nix::sys::signal::Signal;
use std::{fs, time::Duration};
use tokio::time::{Instant, sleep};

/// A fast shutdown first writes everything in memory to disk.
const FAST_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(60);
/// An immediate shutdown writes nothing: the next start recovers from the write-ahead log.
const IMMEDIATE_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Afterwards no process of the cluster runs and nothing prevents its start.
pub(super) async fn clear(cluster: &Cluster) -> Result<(), EmbeddedError> {
    let Some(file) = PidFile::read(&cluster.data) else {
        socket::remove_leftovers(&cluster.socket_dir);
        return Ok(());
    };
    if processes::is_server(file.pid, &cluster.data) {
        tracing::warn!("stopping the database that an earlier run left running (process {})", file.pid);
        stop(file.pid, cluster).await?;
    } else {
        tracing::warn!("the database was not shut down cleanly the last time; it recovers now");
    }
    // Children of a killed server notice and end by themselves.
    let is_clear =
        wait_until(IMMEDIATE_SHUTDOWN_TIMEOUT, || !processes::any_left(&cluster.data, &cluster.name())).await;
    if !is_clear {
        return Err(EmbeddedError::OrphanStuck { pid: None });
    }
    // Postgres removes a stale file itself, unless its process id is in use: by another process, or by a zombie that nobody reaps.
    if PidFile::read(&cluster.data).is_some_and(|file| processes::pid_exists(file.pid)) {
        let path = cluster.data.join("postmaster.pid");
        fs::remove_file(&path).map_err(|error| EmbeddedError::io(&path, error))?;
    }
    socket::remove_leftovers(&cluster.socket_dir);
    Ok(())
}

async fn stop(pid: i32, cluster: &Cluster) -> Result<(), EmbeddedError> {
    for (signal, limit) in
        [(Signal::SIGINT, FAST_SHUTDOWN_TIMEOUT), (Signal::SIGQUIT, IMMEDIATE_SHUTDOWN_TIMEOUT)]
    {
        processes::signal(pid, signal);
        if wait_until(limit, || !processes::is_server(pid, &cluster.data)).await {
            return Ok(());
        }
    }
    Err(EmbeddedError::OrphanStuck { pid: u32::try_from(pid).ok() })
}

/// Polls, because processes that are not our children send no event when they end.
async fn wait_until(limit: Duration, condition: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    while !condition() {
        if Instant::now() > deadline {
            return false;
        }
        sleep(Duration::from_millis(20)).await;
    }
    true
}
