//! The embedded database: without a database URL, Headgate runs a Postgres cluster of its own.
//!
//! It uses the server binaries of the machine, keeps the cluster in the data directory and listens on a socket in a private directory, without a port
//! and without a password, so nobody else can connect. Started as root it runs as an unprivileged user. It ends with the program, even when that is
//! killed; a server that is left running nevertheless is stopped by the next start. The rest of the program only sees a URL, as of any Postgres.

mod binaries;
mod child;
mod cluster;
mod data_dir;
mod error;
mod keep_running;
mod orphan;
mod owner;
mod pid_file;
mod postmaster;
mod private_folder;
mod processes;
mod run_as;
mod socket;

pub use data_dir::choose_data_dir;
pub use error::EmbeddedError;

use cluster::Cluster;
use owner::OwnerLock;
use postmaster::Postmaster;
use std::{future::Future, path::Path};

/// A running cluster, owned by this process.
///
/// Dropping it asks Postgres to end and does not wait; [`stop`](Self::stop) waits.
#[derive(Debug)]
pub struct EmbeddedPostgres {
    cluster: Cluster,
    postmaster: Postmaster,
    url: String,
    _owner: OwnerLock,
}

impl EmbeddedPostgres {
    /// Starts the cluster in `data_dir`; the first time it is created, which takes a second or two.
    pub async fn start(data_dir: &Path) -> Result<Self, EmbeddedError> {
        let data_dir = data_dir.to_path_buf();
        let prepared = tokio::task::spawn_blocking(move || {
            let (data_dir, owner) = data_dir::open(&data_dir)?;
            Ok((Cluster::open(&data_dir)?, owner))
        });
        let (cluster, owner) = prepared.await.map_err(|_| EmbeddedError::Interrupted)??;
        let postmaster = Postmaster::start(&cluster).await?;
        postmaster.until_ready(&cluster).await?;
        let url = cluster.ensure_database().await?;
        Ok(Self { cluster, postmaster, url, _owner: owner })
    }

    /// The URL of Headgate's database in this cluster. It stays the same over restarts.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Resolves when Postgres has ended, for whatever reason.
    pub fn exited(&self) -> impl Future<Output = ()> + Send + use<> {
        let ended = self.postmaster.ended();
        async move {
            ended.await;
        }
    }

    /// Stops Postgres if it runs, and starts it.
    pub async fn restart(&mut self) -> Result<(), EmbeddedError> {
        self.postmaster.stop().await?;
        // Stored before it is ready: if this is cancelled, a later stop waits for the new server.
        self.postmaster = Postmaster::start(&self.cluster).await?;
        self.postmaster.until_ready(&self.cluster).await
    }

    /// Shuts Postgres down: open transactions are rolled back, everything else is on disk afterwards.
    ///
    /// # Errors
    /// When it has not ended after a minute, nor after an immediate shutdown.
    pub async fn stop(self) -> Result<(), EmbeddedError> {
        self.postmaster.stop().await
    }
}
